/** `npm run release`: what it refuses, in a repository of its own. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { userEnvironment } from '../support/child.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = join(root, 'scripts', 'release.mjs')
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

t.test('a dirty tree is refused', async (t) => {
  const folder = repository(t)
  writeFileSync(join(folder, 'new.txt'), '')
  t.match(release(folder), { status: 1, reasons: /the tree is dirty/ })
})

t.test('commits that are not pushed are refused', async (t) => {
  const folder = repository(t)
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

/** Makes a repository with one commit, which is pushed. */
function repository(
  t: Test,
  manifest: object = ready,
  changelog = '# Changelog\n\n## 1.2 (2026-11-22)\n',
): string {
  const folder = t.testdir({
    remote: {},
    work: { 'package.json': JSON.stringify(manifest), 'CHANGELOG.md': changelog },
  })
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
function release(folder: string): { readonly status: number | null; readonly reasons: string } {
  const env = {
    ...userEnvironment(),
    npm_config_fetch_retries: '0',
    npm_config_registry: 'http://127.0.0.1:9',
  }
  const { status, stderr } = spawnSync(process.execPath, [program, '--dry-run'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  const reasons = stderr.split('\n').filter((line) => line.startsWith('not released: '))
  return { status, reasons: reasons.join('\n') }
}
