/** `npm run test:platforms`: its arguments, and its checks on the Node.js of this run. */
import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { userEnvironment } from '../support/child.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('the checks pass', async (t) => {
  const folder = t.testdir()
  copyFileSync(join(root, 'test/platforms/checks.mjs'), join(folder, 'checks.mjs'))
  const { REDIS_URL: _, ...env } = userEnvironment()
  const run = spawnSync(process.execPath, ['checks.mjs', 'esm'], { cwd: folder, env, encoding: 'utf8' })
  const lines = run.stdout.trim().split('\n')
  const [first, ...results] = lines.map((line) => JSON.parse(line))
  t.match(first, { platform: `Node.js ${process.versions.node}`, fastify: /^5\./ })
  t.strictSame(results.pop(), { end: true }, run.stderr)
  t.ok(results.length > 45)
  for (const { name, error } of results) t.equal(error, null, name)
  t.equal(run.status, 0)
})

t.test('an unknown platform is refused', async (t) => {
  const { status, stderr } = testPlatforms('perl')
  t.equal(status, 2)
  t.match(stderr, 'not a platform: perl')
})

t.test('a version that cannot be had is loud, and a failure unless that is allowed', async (t) => {
  const missing = testPlatforms('node@999')
  t.equal(missing.status, 1)
  t.match(missing.stderr, 'NOT CHECKED: node@999')
  const allowed = testPlatforms('--allow-missing', 'node@999')
  t.equal(allowed.status, 0)
  t.match(allowed.stderr, 'NOT CHECKED: node@999')
})

/** Runs the script without a registry. */
function testPlatforms(...args: readonly string[]) {
  const env = {
    ...userEnvironment(),
    npm_config_fetch_retries: '0',
    npm_config_registry: 'http://127.0.0.1:9',
  }
  const script = join(root, 'scripts/test-platforms.mjs')
  return spawnSync(process.execPath, [script, ...args], { env, encoding: 'utf8' })
}
