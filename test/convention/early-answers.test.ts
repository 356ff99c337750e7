/** Requests that no hook sees: malformed URLs and over-long parameters, which `serverOptions()` answers. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { cors, maintenance, securityHeaders, serverOptions } from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'
import { injected, isProblem } from '../support/problem.js'

const page = 'https://app.example'
const tooLong = `/v1/users/${'a'.repeat(5000)}`

t.test('in maintenance they are refused as all requests are, and not logged as errors', async (t) => {
  for (const refusals of ['answer', 'errorHandler'] as const) {
    const logs = keepLogs()
    const app = Fastify({ ...serverOptions(), logger: logs.logger })
    await app.register(conventions, { problems: { refusals }, cors: { origin: page } })
    app.get('/v1/users/:id', async () => ({}))
    await app.ready()
    await app.maintenance.enable({ until: '2099-01-01T00:00:00Z', reason: 'now' })
    logs.lines.length = 0
    const added = { 'access-control-allow-origin': page, 'x-content-type-options': 'nosniff' }
    for (const url of ['/%zz', tooLong]) {
      const response = await app.inject(url)
      isProblem(t, injected(response), { status: 503, code: 'maintenance' })
      t.match(response.headers, { 'retry-after': /./, ...added })
    }
    t.notOk(logs.lines.some(({ level }) => level >= levels.warn))
    await app.maintenance.disable()
    isProblem(t, injected(await app.inject('/%zz')), { status: 400, code: 'uri-malformed' })
    await app.close()
  }
})

t.test('a page can read them; they have the headers of all conventions, even if one fails', async (t) => {
  const check = (origin?: string) => {
    if (origin !== page) throw new Error('no')
    return true
  }
  for (const origin of [page, check, async (origin?: string) => check(origin)]) {
    const logs = keepLogs()
    const app = Fastify({ ...serverOptions(), logger: logs.logger })
    await app.register(cors, { origin: typeof origin === 'string' ? [origin] : origin })
    await app.register(securityHeaders)
    app.get('/v1/users/:id', async () => ({}))
    for (const [url, status] of [['/%zz', 400] as const, [tooLong, 414] as const]) {
      const answer = await app.inject({ url, headers: { origin: page } })
      const ofCors = { 'access-control-allow-origin': page, 'access-control-expose-headers': /Retry-After/ }
      const headers = { ...ofCors, vary: 'Origin', 'x-content-type-options': 'nosniff' }
      t.match(answer, { statusCode: status, headers }, `${origin}`)
      const other = await app.inject({ url, headers: { origin: 'https://other.example' } })
      const vary = { vary: 'Origin', 'x-content-type-options': 'nosniff' }
      t.match(other, { statusCode: status, headers: vary }, `${origin}`)
      t.notOk('access-control-allow-origin' in other.headers, `${origin}`)
    }
    const failures = logs.lines.filter(({ msg }) => msg === 'headers of an error failed')
    t.match(failures, origin === page ? [] : Array(2).fill({ err: { message: 'no' } }), `${origin}`)
  }
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
