/** A Number from 2^53 on in a declared int64: a 500 without the value. What report mode says of it: report.test.ts. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { fields, integerTwins, problems } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const id = { type: 'integer', format: 'int64' }
const lost = 2 ** 60
const digits = /11529215046068|secret/
const isLost = /64-bit integer.*beyond 2\^53.*BigInt or a string/
const isNone = /is not a 64-bit integer|out of the range of its format/

const rows: readonly (readonly [properties: object, value: object, message: RegExp])[] = [
  [{ id }, { id: lost }, isLost],
  [{ a: { type: 'object', properties: { id } } }, { a: { id: -lost } }, isLost],
  [{ id }, { id: 2 ** 53 }, isLost],
  ...['secret', 1.5, {}, 2n ** 63n].map((wrong) => [{ id }, { id: wrong }, isNone] as const),
]

t.test('enforce: 500 without the value; the log has the cause; the next request is served', async (t) => {
  for (const [properties, value, message] of rows) {
    const about = String(Object.values(value))
    const { logger, lines } = keepLogs('info')
    const values: unknown[] = [value]
    const app = await service(properties, () => values.shift() ?? {}, logger)
    const answer = injected(await app.inject('/v1/users/1'))
    isProblem(t, answer, { status: 500, code: 'internal-server-error' }, about)
    t.notMatch(answer.body, digits, `${about}: not in the body`)
    const error = lines.find(({ level }) => level === levels.error)
    t.match(error, { err: { message }, reqId: 'req-1' }, about)
    t.notMatch(JSON.stringify(lines), digits, `${about}: not in the log`)
    const next = await app.inject('/v1/users/1')
    t.strictSame([next.statusCode, next.payload], [200, '{}'], `${about}: the next one`)
  }
})

t.test('a projection without the member is sent; one with the member is a 500', async (t) => {
  const app = await service({ id, name: { type: 'string' } }, { id: lost, name: 'Ada' })
  t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
  t.equal((await app.inject('/v1/users/1?fields=id')).statusCode, 500)
})

t.test('digits that the serializer of the app has rounded: no twin; a 500 if declared', async (t) => {
  const big = 9007199254740993n
  const rounded = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
  const answered = async (type: object, value: object, write: (payload: unknown) => string) => {
    const app = await service({ id: type, at: { type: 'array', items: type } }, value)
    app.setSerializerCompiler(() => write)
    const { statusCode, payload } = await app.inject('/v1/users/1')
    return statusCode === 200 ? payload : statusCode
  }
  const round = (payload: unknown) => JSON.stringify(payload, rounded)
  const keep = () => `{"id":${big}}`
  const twinned = `{"id":${big},"id_str":"${big}"}`
  t.equal(await answered(id, { id: big }, round), 500)
  t.equal(await answered(id, { id: 2n, at: [big] }, round), 500)
  t.equal(await answered({ type: 'integer' }, { id: big }, round), '{"id":9007199254740992}')
  t.equal(await answered(id, { id: big }, keep), twinned)
  t.equal(await answered(id, { id: `${big}` }, keep), twinned, 'from the text of a driver')
  t.equal(await answered(id, { id: 1 }, keep), 500, 'the handler has not returned these digits')
})

async function service(
  properties: object,
  value: object | (() => unknown),
  logger: object | false = false,
): Promise<FastifyInstance> {
  const app = Fastify({ logger })
  await app.register(problems)
  await app.register(fields)
  await app.register(integerTwins)
  const schema = { response: { 200: { type: 'object', properties } } }
  app.get('/v1/users/:id', { schema }, () => (typeof value === 'function' ? value() : value))
  return app
}
