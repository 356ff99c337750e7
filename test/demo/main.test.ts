import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { endChild } from '../support/child.js'
import { until } from '../support/until.js'
import { failureOf, spawnDemo, startDemo } from './run-demo.js'

t.test('the demo prints its URL and examples that work, and stops at SIGINT', async (t) => {
  const { origin, process, printed } = await startDemo(t, { ISSUER_URL: '', DATABASE_URL: '' })
  t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal((await fetch(`${origin}/v1/users?limit=1`)).status, 401)
  const lines = await until(
    async () => printed.filter((line) => line.includes('curl ')),
    (commands) => commands.length === 6,
  )
  const [admin, user] = lines.filter((line) => line.startsWith('  TOKEN='))
  const commands = ['email', 'PATCH', 'retry'].map((word) => lines.find((line) => line.includes(word)))
  for (const [token, seen, retried] of [
    [user, 1, /^404 /],
    [admin, 2, /^303 /],
  ] as const) {
    const [users = '', patch, retry] = (await shell([token, ...commands].join('\n')))
      .split('HTTP/1.1 ')
      .slice(1)
    t.match(users, /^200 OK\r\n[\s\S]*"users":\[/)
    t.equal(users.match(/"email"/g)?.length, seen)
    t.match(patch, /"age":37/)
    t.match(retry, retried)
  }
  t.equal(await endChild(process, 'SIGINT'), 0)
})

t.test('an invalid setting is an error of one line, with exit code 1', async (t) => {
  t.match(await failureOf(spawnDemo({ PORT: 'http' })), /^demo server: PORT: expected .* received 'http'$/)
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
