import t from 'tap'
import { firstId } from '../../examples/demo-server/migrations.js'
import { obstacleToPostgres, startPostgres } from '../support/postgres.js'
import { callerOf } from './client.js'
import { startDemo, stopDemo } from './run-demo.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
t.test('DATABASE_URL: two instances share the data', { skip }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.stop())
  const instances = await Promise.all([
    startDemo(t, { DATABASE_URL: server.url }),
    startDemo(t, { DATABASE_URL: server.url }),
  ])
  const [one, other] = instances
  await rename(one.origin, 'Renamed')
  t.equal(await nameOfFirst(other.origin), 'Renamed')
  const users = await callerOf(other.origin).get('/v1/users?include_total=true&limit=1')
  t.match(users.json, { total: 40 }, 'seeded once')
  for (const { process } of instances) await stopDemo(process, 'SIGTERM')
})

async function rename(origin: string, name: string): Promise<void> {
  await callerOf(origin).patch(`/v1/users/${firstId}`, { name })
}

async function nameOfFirst(origin: string): Promise<unknown> {
  return (await callerOf(origin).get(`/v1/users/${firstId}`)).json.name
}
