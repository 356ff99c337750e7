// Own process: it is slow
/** docs/tutorial.md: the files of each step, in a folder of their own, do what the step says. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { checkPackages, skipWithoutChecks } from '../support/checks.js'
import { startListening, userEnvironment } from '../support/child.js'
import { postgresOf, skipWithoutPostgres } from '../support/postgres.js'
import { redisOf, skipWithoutRedis } from '../support/redis.js'
import { curlSettings, hasCurl, runLine } from './curl.js'
import { blocksOf, curlLinesOf, promisedStatus } from './markdown.js'

// Inside the repository, so that what the page installs is found there.
const root = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)
const page = await readFile(join(root, 'docs', 'tutorial.md'), 'utf8')
const steps = page.split(/^## \d\. /m).slice(1)

const withoutCurl = !process.env.CI && !(await hasCurl()) && 'there is no curl'
const skip = withoutCurl || (await skipWithoutPostgres()) || (await skipWithoutRedis()) || skipWithoutChecks()

t.test('the tutorial', { skip, timeout: 600_000 }, async (t) => {
  const folder = t.testdir({ 'package.json': '{"type":"module"}', ...curlSettings })
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules', 'fastify-conventions'))
  await symlink(join(checkPackages, 'openapi-fetch'), join(folder, 'node_modules', 'openapi-fetch'))
  t.equal(steps.length, 7)

  for (const [index, step] of steps.entries()) {
    await t.test(step.slice(0, step.indexOf('\n')), async (t) => {
      const blocks = blocksOf(step.split(/^## /m)[0] ?? '')
      const files = blocks.filter(({ language }) => language === 'ts')
      for (const { text } of files) {
        const name = /^\/\/ (\S+)\n/.exec(text)?.[1]
        if (name === undefined) throw new Error(`a block without the name of its file: ${text.slice(0, 80)}`)
        await writeFile(join(folder, name), text)
      }
      const lines = blocks.filter(({ language }) => language === 'sh').flatMap(curlLinesOf)
      const origin = await startServer(t, folder)
      for (const line of lines) {
        const command = line.replace('localhost:3000', new URL(origin).host)
        const { statuses, complaints } = await runLine(command, folder)
        t.strictSame(statuses, [promisedStatus(line)], line + complaints)
      }
      await byHand[index + 1]?.(t, folder, origin)
    })
  }
})

type Check = (t: Test, folder: string, origin: string) => Promise<void>

/** What steps ask to run besides curl. */
const byHand: Readonly<Record<number, Check>> = {
  async 1(t, folder) {
    const app = await readFile(join(folder, 'app.ts'), 'utf8')
    await writeFile(join(folder, 'app.ts'), app.replace('/v1/orders/:id', '/v1/Order/:id'))
    await t.rejects(startServer(t, folder), /pathGuard\.uppercase/, 'a bad route stops the boot')
  },
  async 3(t, folder) {
    const args = ['--import', tsx, '--test', 'app.test.ts']
    const { stdout } = await run(args, folder, { LOG_LEVEL: 'silent' })
    t.match(stdout, /^# pass 2$/m)
  },
  async 4(t, folder, origin) {
    const program = join(checkPackages, 'openapi-typescript', 'bin', 'cli.js')
    await run([program, `${origin}/openapi.json`, '-o', 'shop.d.ts'], folder)
    const { stdout } = await run(['--import', tsx, 'client.ts'], folder, { SHOP: origin })
    t.match(stdout, /^9007199254740993 pending$/m)
    await compiles(folder)
  },
  async 7(t, folder) {
    await compiles(folder)
    const [postgres, redis] = await Promise.all([postgresOf(t), redisOf(t)])
    const shared = { DATABASE_URL: postgres.url, REDIS_URL: redis.url }
    const [one, other] = await Promise.all([startServer(t, folder, shared), startServer(t, folder, shared)])
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'one-order' }
    const order = { method: 'POST', headers, body: '{"total_amount":450}' }
    const create = async (origin: string) => (await fetch(`${origin}/v1/orders`, order)).text()
    const created = await create(one)
    t.match(created, '"id_str":"9007199254740993"')
    t.equal(await create(other), created, 'the key is known to the other one')
    const pay = { method: 'POST', headers: { prefer: 'wait=20' }, redirect: 'manual' } as const
    const paid = await fetch(`${one}/v1/orders/9007199254740993/pay`, pay)
    t.equal(paid.status, 303)
    t.match(await (await fetch(`${other}/v1/orders/9007199254740993`)).text(), '"status":"paid"')
  },
}

const tsx = require.resolve('tsx')

/** Starts `server.ts` on a free port; it ends with the test. Returns its origin. */
function startServer(t: Test, folder: string, environment: Record<string, string> = {}): Promise<string> {
  return startListening(t, {
    args: ['--import', tsx, 'server.ts'],
    folder,
    environment: { ...environment, PORT: '0', LOG_LEVEL: 'info' },
  })
}

async function compiles(folder: string): Promise<void> {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext']
  const files = ['server.ts', 'client.ts', 'app.test.ts', 'shop.d.ts']
  await run([require.resolve('typescript/bin/tsc'), ...options, '--types', 'node', ...files], folder)
}

async function run(args: readonly string[], folder: string, variables: Record<string, string> = {}) {
  const env = { ...userEnvironment(), ...variables }
  return promisify(execFile)(process.execPath, args, { cwd: folder, env }).catch((error) => {
    throw new Error(`${args.join(' ')}\n${error.stdout}\n${error.stderr}`)
  })
}
