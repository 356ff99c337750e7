import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { failureOf, spawnDemo, startDemo, stopDemo } from './run-demo.js'

t.test('the demo prints its URL and examples, and stops at SIGTERM', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { origin, process, printed } = await startDemo(t)
    t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
    t.equal((await fetch(`${origin}/v1/users?limit=1`)).status, 200)
    t.equal(await stopDemo(process, signal), 0, `${signal}: exit code 0`)
    t.equal(printed.filter((line) => line.includes('curl ')).length, 5)
    t.match(printed.join('\n'), 'Bearer dev-user-<id>', 'and what a token looks like')
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
