/** `npm run release`: what it refuses, in a repository of its own. `npm run test:platforms`: its checks on this Node.js. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { userEnvironment } from '../support/child.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const scripts = { lint: 'true', types: 'true', 'test:all': 'true', 'package:check': 'true' }
const ready = {
  name: 'a-package-that-no-registry-has',
  version: '1.2.0',
  repository: { type: 'git', url: 'git+https://git.invalid/team/package.git' },
  homepage: 'https://git.invalid/team/package',
  bugs: 'https://git.invalid/team/package/issues',
  scripts,
}

t.test('a repository that is ready has no reason against it', async (t) => {
  const { reasons } = release(repository(t))
  // A registry cannot be reached here, and --provenance needs a build service.
  t.ok(reasons === '' || reasons === 'not released: npm publish fails', reasons)
})

t.test('a dirty tree and commits that are not pushed are refused', async (t) => {
  const folder = repository(t)
  writeFileSync(join(folder, 'new.txt'), '')
  t.match(release(folder), { status: 1, reasons: /the tree is dirty/ })
  git(folder, 'add', '.')
  appendFileSync(join(folder, 'CHANGELOG.md'), '- more\n')
  git(folder, 'commit', '-qam', 'more')
  t.match(release(folder), { status: 1, reasons: /HEAD is not what is pushed/ })
  git(folder, 'branch', '--unset-upstream')
  t.match(release(folder), { status: 1, reasons: /no upstream/ })
})

for (const script of Object.keys(scripts)) {
  t.test(`a red tree is refused: ${script}`, async (t) => {
    const folder = repository(t, { ...ready, scripts: { ...scripts, [script]: 'false' } })
    t.match(release(folder), { status: 1, reasons: `not released: npm run ${script} fails` })
  })
}

t.test('URLs that are not set, and an unfinished changelog are refused, all at once', async (t) => {
  const homepage = 'https://example.com/OWNER/fastify-conventions'
  const folder = repository(t, { ...ready, homepage, bugs: undefined }, '## 1.2, not yet released\n')
  const { status, reasons } = release(folder)
  t.equal(status, 1)
  t.strictSame(reasons.split('\n'), [
    'not released: package.json: homepage is not set',
    'not released: package.json: bugs is not set',
    "not released: CHANGELOG.md: '## 1.2, not yet released' needs its date",
  ])
})

t.test('a version without a heading in the changelog is refused', async (t) => {
  t.match(release(repository(t, ready, '## 1.1\n')), { status: 1, reasons: /no heading ## 1\.2/ })
})

t.test('the checks pass, also on the oldest Fastify that the package supports', async (t) => {
  const folder = t.testdir()
  copyFileSync(join(root, 'test/platforms/checks.mjs'), join(folder, 'checks.mjs'))
  const { REDIS_URL: _, ...env } = userEnvironment()
  for (const args of ['esm fastify', 'cjs fastify-oldest']) {
    const of = { cwd: folder, env, encoding: 'utf8' } as const
    const checks = spawnSync(process.execPath, ['checks.mjs', ...args.split(' ')], of)
    const [first, ...results] = checks.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(first, { platform: `Node.js ${process.versions.node}`, fastify: /^5\./ })
    t.strictSame(results.pop(), { end: true }, checks.stderr)
    t.ok(results.length > 35)
    for (const { name, error } of results) t.equal(error, null, `${args}: ${name}`)
    t.equal(checks.status, 0)
  }
})

t.test('an unknown platform is refused', async (t) => {
  const refused = run('test-platforms.mjs', ['perl'])
  t.match(refused, { status: 2, stderr: 'not a platform: perl' })
})

t.test('a version that cannot be had is loud, and a failure unless that is allowed', async (t) => {
  const [missing, stderr] = ['node@999', 'NOT CHECKED: node@999']
  t.match(run('test-platforms.mjs', [missing]), { status: 1, stderr })
  t.match(run('test-platforms.mjs', ['--allow-missing', missing]), { status: 0, stderr })
})

/** Makes a repository with one commit, which is pushed. */
function repository(t: Test, manifest: object = ready, changelog = '## 1.2 (2026-11-22)\n'): string {
  const files = { 'package.json': JSON.stringify(manifest), 'CHANGELOG.md': changelog }
  const folder = t.testdir({ remote: {}, work: files })
  const work = join(folder, 'work')
  git(join(folder, 'remote'), 'init', '-q', '--bare')
  git(work, 'init', '-q', '-b', 'main')
  git(work, 'add', '.')
  git(work, 'commit', '-qm', 'first')
  git(work, 'remote', 'add', 'origin', join(folder, 'remote'))
  git(work, 'push', '-qu', 'origin', 'main')
  return work
}

function git(folder: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
  const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
}

/** A dry run: its exit code, and the reasons that it prints. */
function release(folder: string) {
  const { status, stderr } = run('release.mjs', ['--dry-run'], folder)
  const reasons = stderr.split('\n').filter((line) => line.startsWith('not released: '))
  return { status, reasons: reasons.join('\n') }
}

/** Runs a script without a registry. */
function run(script: string, args: readonly string[], cwd = root) {
  const withoutRegistry = { npm_config_fetch_retries: '0', npm_config_registry: 'http://127.0.0.1:9' }
  const env = { ...userEnvironment(), ...withoutRegistry }
  return spawnSync(process.execPath, [join(root, 'scripts', script), ...args], { cwd, env, encoding: 'utf8' })
}
