/**
 * Whatever comes over the wire, an app with the preset answers it: never with a 5xx, never with a 4xx that is no
 * problem document, and never not at all.
 */
import fc from 'fast-check'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../src/index.js'
import { exchange, parseAnswers, type RawAnswer } from './support/raw.js'
import { serve } from './support/serve.js'

/** A request as its bytes. */
interface RandomRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']
const known = ['/v1/users', '/v1/users/42', '/v1/links/AbC', '/v1/files/a/b']
const paths = [...known, ...known, ...known, '/v1/Users', '/nothing', '*', '/']
const words = [...'v1 users links files 42 AbC .. %2F %zz %00 %c3%a4'.split(' '), 'x'.repeat(150)]
const values = ['', ...'1 -1 a,b 1e400 2026-01-01T00:00:00Z true %00 %zz %E2%82'.split(' '), '9'.repeat(400)]
const texts = ['', ...'{ {} [] null "a" {"name":"a"} {"name":"a","age":-1} {"__proto__":{}}'.split(' ')]
const types = 'application/json;charset=x application/json text/plain application/xml nonsense */*'.split(' ')
const names = 'accept content-type accept-version host range if-match upgrade expect x-a'.split(' ')
const keys = ['limit', 'before_id', 'after_id', 'before_time', 'include_total', 'fields', 'name', '__proto__']

const textOf = (min: number, max: number) =>
  fc.string({ unit: fc.integer({ min, max }).map((code) => String.fromCharCode(code)) })
const [latin, printable] = [textOf(0, 255), textOf(33, 126)]
const usually = <Value>(often: fc.Arbitrary<Value>, seldom: fc.Arbitrary<Value>, rarely = seldom) =>
  fc.oneof(
    ...[often, seldom, rarely].map((arbitrary, rank) => ({ weight: [20, 4, 1][rank] ?? 1, arbitrary })),
  )

const path = usually(
  fc.constantFrom(...paths),
  fc
    .array(usually(fc.constantFrom(...words), printable), { maxLength: 4 })
    .map((segments) => `/${segments.join('/')}`),
  latin,
)
const parameter = fc
  .tuple(fc.constantFrom(...keys), usually(fc.constantFrom(...values), printable))
  .map(([key, value]) => `${key}=${value}`)
const target = fc
  .tuple(usually(fc.constant(''), fc.constant('http://a')), path, fc.array(parameter, { maxLength: 2 }))
  .map(([origin, path, query]) => `${origin}${path}${query.length === 0 ? '' : `?${query.join('&')}`}`)
const header = fc.tuple(
  fc.constantFrom(...names),
  usually(fc.constantFrom(...types, ...types, ...values), printable, latin),
)
const object = fc.object({ key: fc.constantFrom('name', 'age', '__proto__', 'a/b', '~') })
const body = usually(
  fc.oneof(fc.constantFrom(...texts), fc.json()),
  object.map((value) => JSON.stringify(value)),
  latin,
)
const request: fc.Arbitrary<RandomRequest> = fc.record({
  method: usually(fc.constantFrom(...methods), fc.constantFrom('GET', 'POST'), printable),
  target,
  headers: fc.array(header, { maxLength: 2 }),
  body,
})

t.test('3,000 random requests', async (t) => {
  const app = await service()
  const { port } = await serve(t, app)
  const seen = new Set<number>()

  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 10, maxLength: 10 }), async (requests) => {
      const all = await Promise.all(requests.map(async (one) => check(one, await answerTo(port, one))))
      for (const { status } of all.flat()) seen.add(status)
    }),
    { numRuns: 300 },
  )

  for (const status of [200, 204, 400, 404, 405, 415])
    t.ok(seen.has(status), `${status} was among the answers`)
})

async function answerTo(port: number, { method, target, headers, body }: RandomRequest): Promise<string> {
  const fields = [...headers, ['Connection', 'close'], ['Content-Length', String(body.length)]]
  const own = headers.some(([name]) => name === 'host') ? [] : [['Host', 'localhost']]
  const lines = [...own, ...fields].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return exchange(port, Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n${body}`, 'latin1'))
}

/** Throws where an answer is none that a client could live with. */
function check({ method }: RandomRequest, bytes: string): RawAnswer[] {
  // The answer to a HEAD tells the length of a body that does not come.
  const answers = parseAnswers(bytes).slice(0, method === 'HEAD' ? 1 : undefined)
  if (answers.length === 0) throw new Error('no answer')
  for (const { status, headers, body } of answers) {
    if (status >= 500) throw new Error(`a ${status}: ${body}`)
    if (status < 400) continue
    if (headers['content-type'] !== 'application/problem+json')
      throw new Error(`a ${status} that is not a problem`)
    if (method === 'HEAD' && body === '') continue
    const document = JSON.parse(body)
    if (document.status !== status || typeof document.code !== 'string')
      throw new Error(`no problem: ${body}`)
  }
  return answers
}

async function service(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(conventions, { rateLimit: { max: 1_000_000_000 } })
  const user = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  }
  const properties = { users: { type: 'array' }, total: { type: 'integer' } }
  const answered = { response: { 200: { type: 'object', properties } } }
  app.get('/v1/users', { config: { lists: {} }, schema: answered }, async (_request, reply) => reply.list([]))
  app.post('/v1/users', { schema: { body: user } }, async (incoming) => incoming.body)
  app.get('/v1/users/:id', { schema: answered }, async () => ({}))
  app.patch('/v1/users/:id', { schema: { body: user } }, async (incoming) => incoming.body)
  app.delete('/v1/users/:id', async (_incoming, reply) => reply.code(204).send())
  app.get('/v1/links/:id', { config: { pathGuard: { params: 'any' } } }, async (incoming) => incoming.params)
  app.get('/v1/files/*', async (incoming) => incoming.params)
  return app
}
