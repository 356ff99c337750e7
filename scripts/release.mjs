// Publishes the package: npm run release -- [--dry-run]
// Refuses a tree that is dirty, not pushed or red, and a package.json or changelog that is not ready. All reasons that need no
// test run are printed together. With --dry-run everything is checked, and nothing is published.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const reasons = [...treeFaults(), ...manifestFaults(), ...changelogFaults()]
if (reasons.length > 0) refuse(reasons)

for (const script of ['lint', 'types', 'test:all', 'package:check']) {
  if (!succeeds('npm', ['run', script])) refuse([`npm run ${script} fails`])
}
const publish = ['publish', '--provenance', '--access', 'public', ...(values['dry-run'] ? ['--dry-run'] : [])]
if (!succeeds('npm', publish)) refuse(['npm publish fails'])
const { name, version } = manifest
console.log(
  values['dry-run']
    ? `${name} ${version} can be released`
    : `${name} ${version} is released: git tag v${version}`,
)

/** What is committed and pushed is what is published. */
function treeFaults() {
  if (git('status', '--porcelain') !== '')
    return ['the tree is dirty: commit or remove what git status shows']
  const upstream = git('rev-parse', '--verify', '--quiet', '@{upstream}')
  if (upstream === null) return ['the branch has no upstream: push it']
  return upstream === git('rev-parse', 'HEAD') ? [] : ['HEAD is not what is pushed: push or pull']
}

function manifestFaults() {
  const { repository, homepage, bugs } = manifest
  const urls = { repository: repository?.url ?? repository, homepage, bugs: bugs?.url ?? bugs }
  return Object.entries(urls)
    .filter(([, url]) => typeof url !== 'string' || /\bexample\.(?:com|org|net)\b/.test(url))
    .map(([member]) => `package.json: ${member} is not set`)
}

function changelogFaults() {
  const { version } = manifest
  const minor = version.split('.').slice(0, 2).join('.')
  const heading = readFileSync('CHANGELOG.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`## ${minor}`))
  if (heading === undefined) return [`CHANGELOG.md: there is no heading ## ${minor}`]
  return heading.includes('not yet released') ? [`CHANGELOG.md: '${heading}' needs its date`] : []
}

function git(...args) {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return null
  }
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0
}

function refuse(reasons) {
  for (const reason of reasons) console.error(`not released: ${reason}`)
  process.exit(1)
}
