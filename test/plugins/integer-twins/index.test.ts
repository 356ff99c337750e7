/** Integer twins of answers, case by case, on the bytes of the wire. */
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import JsonBigInt from 'json-bigint'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { int64 as id, objectOf as object } from './input/support.js'

const big = 9_007_199_254_740_993n
const twin = '"id":9007199254740993,"id_str":"9007199254740993"'
const integer = { type: 'integer' }
const ids = '"ids":[1,9007199254740993],"ids_str":["1","9007199254740993"]'

/** The schema of the 200 answer is `null` if the route has none. In which places twins stand is told in test/json. */
const rows: readonly (readonly [about: string, schema: object | null, value: unknown, body: string])[] = [
  ['a BigInt', object({ id }), { id: big }, `{${twin}}`],
  ['the answer itself by reference', { $ref: 'user#' }, { id: big }, `{${twin}}`],
  ['undeclared: a BigInt', object({ id: integer }), { id: big }, `{${twin}}`],
  ['no schema: an array', null, { ids: [1, big] }, `{${ids}}`],
]

t.test('the bytes of responses; an exact parser reads them, and no key is repeated', async (t) => {
  const { port } = await serve(t, await service())
  const parser = JsonBigInt({ useNativeBigInt: true, strict: true })
  for (const [index, [about, , , body]] of rows.entries()) {
    const answer = await ask(port, requestBytes('GET', `/v1/rows/${index}`))
    t.strictSame([answer.status, answer.body], [200, body], about)
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8', about)
    t.equal(answer.headers['content-length'], String(Buffer.byteLength(body)), about)
    const parsed: { readonly id?: unknown } = parser.parse(answer.body)
    if (about === 'a BigInt') t.equal(parsed.id, big)
    const head = await ask(port, requestBytes('HEAD', `/v1/rows/${index}`))
    t.equal(head.headers['content-length'], String(Buffer.byteLength(body)), `${about}, by HEAD`)
  }
})

t.test('responses of all methods and statuses with JSON have twins', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  const schema = { response: { '2xx': object({ id }), '4xx': object({ id }) } }
  const method = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
  const handler = (request: FastifyRequest, reply: FastifyReply) =>
    reply.code(Number((request.params as { code: string }).code)).send({ id: big })
  app.route({ method: [...method], url: '/v1/users/:code', schema, handler })
  for (const one of method) {
    for (const code of [200, 201, 202, 404]) {
      const { statusCode, payload } = await app.inject({ method: one, url: `/v1/users/${code}` })
      t.strictSame([statusCode, payload], [code, `{${twin}}`], `${one} ${code}`)
    }
  }
})

async function service() {
  const app = Fastify()
  await app.register(integerTwins)
  app.addSchema({ $id: 'user', ...object({ id }) })
  for (const [index, [, schema, value]] of rows.entries()) {
    const options = schema === null ? {} : { schema: { response: { 200: schema } } }
    app.get(`/v1/rows/${index}`, options, (_, reply) => reply.send(value))
  }
  return app
}
