import Fastify from 'fastify'
import t from 'tap'
import { refuseWithoutHooks } from '../../src/convention/early-answers.js'
import { ProblemError, serverOptions } from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'
import { injected, isProblem } from '../support/problem.js'

t.test('early refusals apply to requests that reach no hook, and are not logged as errors', async (t) => {
  const logs = keepLogs()
  const app = Fastify({ ...serverOptions(), logger: logs.logger })
  let refuses = true
  refuseWithoutHooks(app, () =>
    refuses ? new ProblemError('maintenance', { detail: 'now', headers: { 'retry-after': '9' } }) : null,
  )
  app.get('/v1/users/:id', async () => ({}))
  for (const url of ['/%zz', `/v1/users/${'a'.repeat(5000)}`]) {
    const response = await app.inject(url)
    isProblem(t, injected(response), { status: 503, code: 'maintenance', detail: 'now' })
    t.equal(response.headers['retry-after'], '9')
    t.equal(response.headers['cache-control'], 'no-store')
  }
  t.strictSame(
    logs.lines.filter(({ level }) => level >= levels.warn),
    [],
  )
  refuses = false
  isProblem(t, injected(await app.inject('/%zz')), { status: 400, code: 'uri-malformed' })
})
