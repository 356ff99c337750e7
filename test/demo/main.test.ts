import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '../support/until.js'
import { failureOf, spawnDemo, startDemo, stopDemo } from './run-demo.js'

t.test('the demo prints its URL and examples that work, and stops at SIGTERM', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const storage = signal === 'SIGINT' ? { DATABASE_URL: '' } : {}
    const { origin, process, printed } = await startDemo(t, { ISSUER_URL: '', ...storage })
    t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
    t.equal((await fetch(`${origin}/v1/users?limit=1`)).status, 401)
    const lines = await until(
      async () => printed.filter((line) => line.includes('curl ')),
      (commands) => commands.length === 6,
    )
    const tokens = lines.filter((line) => line.startsWith('  TOKEN='))
    t.equal(tokens.length, 2, 'one of an admin, one of a user')
    for (const [command, seen] of [
      [tokens[0], 2],
      [tokens[1], 1],
    ] as const) {
      const users = lines.find((line) => line.includes('email')) ?? ''
      const patch = lines.find((line) => line.includes('PATCH')) ?? ''
      const retry = lines.find((line) => line.includes('retry')) ?? ''
      t.match(await shell(`${command}\n${users}`), / 200 OK\r\n[\s\S]*"users":\[/)
      t.match(await shell(`${command}\n${patch}`), /"age":37/)
      t.match(await shell(`${command}\n${retry}`), / (303|404|409) /)
      t.equal((await shell(`${command}\n${users}`)).match(/"email"/g)?.length, seen)
    }
    t.equal(await stopDemo(process, signal), 0, `${signal}: exit code 0`)
  }
})

t.test('an invalid setting is an error of one line, with exit code 1', async (t) => {
  t.match(await failureOf(spawnDemo({ PORT: 'http' })), /^demo server: PORT: expected .* received 'http'$/)
  t.match(await failureOf(spawnDemo({ LOG_LEVEL: 'loud' })), /^demo server: LOG_LEVEL: .*$/)
  t.match(
    await failureOf(spawnDemo({ DATABASE_URL: 'postgres://localhost:1/none' })),
    /^demo server: .*ECONNREFUSED.*$/,
  )

  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  t.match(await failureOf(spawnDemo({ PORT: String(port) })), /^demo server: listen EADDRINUSE.*$/)
})

async function shell(commands: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-c', commands])).stdout
}
