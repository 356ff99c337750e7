import t from 'tap'
import { obstacleToPostgres, startPostgres } from '../../../support/postgres.js'
import { endsWhateverHappens } from './fault-rows.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false

t.test('records and work in PostgreSQL', { skip }, async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.stop())
  await endsWhateverHappens(t, { postgres: server.url })
})
