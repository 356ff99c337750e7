/** Requests that no hook sees: malformed URLs and over-long parameters, which `serverOptions()` answers. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { cors, maintenance, securityHeaders, serverOptions } from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'
import { injected, isProblem } from '../support/problem.js'

const urls = ['/%zz', `/v1/users/${'a'.repeat(5000)}`]

t.test('in maintenance they are refused as all requests are, and not logged as errors', async (t) => {
  for (const refusals of ['answer', 'errorHandler'] as const) {
    const logs = keepLogs()
    const app = Fastify({ ...serverOptions(), logger: logs.logger })
    await app.register(conventions, { problems: { refusals }, cors: { origin: 'https://app.example' } })
    app.get('/v1/users/:id', async () => ({}))
    await app.ready()
    await app.maintenance.enable({ until: '2099-01-01T00:00:00Z', reason: 'now' })
    logs.lines.length = 0
    for (const url of urls) {
      const response = await app.inject(url)
      isProblem(t, injected(response), { status: 503, code: 'maintenance' })
      t.match(response.headers, {
        'retry-after': /./,
        'access-control-allow-origin': 'https://app.example',
        'x-content-type-options': 'nosniff',
      })
    }
    t.notOk(logs.lines.some(({ level }) => level >= levels.warn))
    await app.maintenance.disable()
    isProblem(t, injected(await app.inject('/%zz')), { status: 400, code: 'uri-malformed' })
    await app.close()
  }
})

t.test('they have the headers of all conventions, even if one of them fails', async (t) => {
  const app = Fastify(serverOptions())
  const fail = (): Promise<boolean> => Promise.reject(new Error('failed'))
  await app.register(cors, { origin: fail })
  await app.register(securityHeaders)
  const answer = await app.inject({ url: '/%zz', headers: { origin: 'https://app.example' } })
  t.equal(answer.statusCode, 400)
  t.match(answer.headers, { vary: 'Origin', 'x-content-type-options': 'nosniff' })
})

t.test('a context below the root adds nothing to the errors of the root', async (t) => {
  for (const ofRoot of [async () => {}, maintenance]) {
    const app: FastifyInstance = Fastify(serverOptions())
    await app.register(ofRoot)
    await app.register(async (child) => void (await child.register(cors, { origin: '*' })))
    const { statusCode, headers } = await app.inject('/%zz')
    t.equal(statusCode, 400)
    t.notOk('access-control-allow-origin' in headers)
  }
})
