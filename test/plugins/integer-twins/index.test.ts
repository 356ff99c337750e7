/** Integer twins of answers, case by case, on the bytes of the wire. */
import Fastify from 'fastify'
import JsonBigInt from 'json-bigint'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const big = 9_007_199_254_740_993n
const id = { type: 'integer', format: 'int64' }
const twin = '"id":9007199254740993,"id_str":"9007199254740993"'
const object = (properties: object): object => ({ type: 'object', properties })

interface Row {
  readonly about: string
  /** The schema of the 200 answer; none at all where it is left out. */
  readonly schema?: object
  readonly value: unknown
  readonly body: string
}

const rows: readonly Row[] = [
  { about: 'a BigInt', schema: object({ id }), value: { id: big }, body: `{${twin}}` },
  { about: 'a decimal string', schema: object({ id }), value: { id: String(big) }, body: `{${twin}}` },
  {
    about: 'uint64',
    schema: object({ id: { type: 'integer', format: 'uint64' } }),
    value: { id: 2n ** 64n - 1n },
    body: '{"id":18446744073709551615,"id_str":"18446744073709551615"}',
  },
  {
    about: 'a small value, declared: the shape is stable',
    schema: object({ id }),
    value: { id: 5 },
    body: '{"id":5,"id_str":"5"}',
  },
  {
    about: 'negative',
    schema: object({ id }),
    value: { id: -(2n ** 63n) },
    body: '{"id":-9223372036854775808,"id_str":"-9223372036854775808"}',
  },
  {
    about: 'right after its number',
    schema: object({ a: {}, id, z: {} }),
    value: { z: 1, id: 7n, a: 2 },
    body: '{"a":2,"id":7,"id_str":"7","z":1}',
  },
  {
    about: 'an array',
    schema: object({ friend_ids: { type: 'array', items: id } }),
    value: { friend_ids: [1, big] },
    body: '{"friend_ids":[1,9007199254740993],"friend_ids_str":["1","9007199254740993"]}',
  },
  {
    about: 'nested',
    schema: object({ a: object({ b: object({ id }) }) }),
    value: { a: { b: { id: big } } },
    body: `{"a":{"b":{${twin}}}}`,
  },
  {
    about: 'in the items of a list',
    schema: object({ users: { type: 'array', items: object({ id }) } }),
    value: { users: [{ id: big }, { id: 2 }] },
    body: `{"users":[{${twin}},{"id":2,"id_str":"2"}]}`,
  },
  {
    about: 'nullable',
    schema: object({ id: { ...id, nullable: true } }),
    value: { id: null },
    body: '{"id":null,"id_str":null}',
  },
  {
    about: 'nullable by a list of types',
    schema: object({ id: { type: ['integer', 'null'], format: 'int64' } }),
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'anyOf',
    schema: object({ id: { anyOf: [id, { type: 'null' }] } }),
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'a shared reference',
    schema: object({ user: { $ref: 'user#' } }),
    value: { user: { id: big } },
    body: `{"user":{${twin}}}`,
  },
  {
    about: 'the answer itself by reference',
    schema: { $ref: 'user#' },
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'a local reference',
    schema: { ...object({ id: { $ref: '#/definitions/id' } }), definitions: { id } },
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'a map',
    schema: { type: 'object', additionalProperties: id },
    value: { a: big, b: 1 },
    body: '{"a":9007199254740993,"a_str":"9007199254740993","b":1,"b_str":"1"}',
  },
  {
    about: 'undeclared: a BigInt',
    schema: object({ id: { type: 'integer' } }),
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'undeclared: a BigInt that a Number can hold',
    schema: object({ id: { type: 'integer' } }),
    value: { id: 5n },
    body: '{"id":5}',
  },
  {
    about: 'undeclared: an unsafe Number has no twin, for it may be rounded',
    schema: object({ id: { type: 'number' } }),
    value: { id: 2 ** 53 },
    body: '{"id":9007199254740992}',
  },
  {
    about: 'undeclared: nullable',
    schema: object({ id: { type: ['integer', 'null'] } }),
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'undeclared: anyOf',
    schema: object({ id: { anyOf: [{ type: 'null' }, { type: 'integer' }] } }),
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'undeclared: a list of types',
    schema: object({ id: { type: ['string', 'integer'] } }),
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'undeclared: oneOf objects',
    schema: { oneOf: [object({ id: { type: 'integer' } }), { type: 'null' }] },
    value: { id: big },
    body: `{${twin}}`,
  },
  {
    about: 'undeclared: an array',
    schema: object({ ids: { type: 'array', items: { type: 'integer' } } }),
    value: { ids: [big] },
    body: '{"ids":[9007199254740993],"ids_str":["9007199254740993"]}',
  },
  {
    about: 'undeclared: what the schema leaves open',
    schema: object({ any: {} }),
    value: { any: { id: big } },
    body: `{"any":{${twin}}}`,
  },
  {
    about: 'undeclared: any members',
    schema: { type: 'object', additionalProperties: true },
    value: { id: big },
    body: `{${twin}}`,
  },
  { about: 'no schema: a BigInt', value: { id: big }, body: `{${twin}}` },
  { about: 'no schema: deep', value: { a: [{ id: big }, { id: 5n }] }, body: `{"a":[{${twin}},{"id":5}]}` },
  {
    about: 'no schema: an unsafe Number has no twin, for it may be rounded',
    value: { id: 2 ** 60, big: 1n },
    body: '{"id":1152921504606847000,"big":1}',
  },
  {
    about: 'no schema: an array',
    value: { ids: [1, big] },
    body: '{"ids":[1,9007199254740993],"ids_str":["1","9007199254740993"]}',
  },
  {
    about: 'no schema: nothing to twin',
    value: { id: 5, at: new Date(0), text: '9007199254740993' },
    body: '{"id":5,"at":"1970-01-01T00:00:00.000Z","text":"9007199254740993"}',
  },
  {
    about: 'no schema: a twin of the handler’s own',
    value: { id: big, id_str: 'mine' },
    body: '{"id":9007199254740993,"id_str":"mine"}',
  },
]

t.test('the bytes of responses', async (t) => {
  const { port } = await serve(t, await service())
  for (const [index, { about, body }] of rows.entries()) {
    const answer = await ask(port, requestBytes('GET', `/v1/rows/${index}`))
    t.equal(answer.status, 200, about)
    t.equal(answer.body, body, about)
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8', about)
    t.equal(answer.headers['content-length'], String(Buffer.byteLength(body)), about)
    const head = await ask(port, requestBytes('HEAD', `/v1/rows/${index}`))
    t.equal(head.headers['content-length'], String(Buffer.byteLength(body)), `${about}, by HEAD`)
  }
})

t.test('an exact parser reads the digits of the handler; no key is repeated', async (t) => {
  const app = await service()
  const parser = JsonBigInt({ useNativeBigInt: true, strict: true })
  for (const [index, { about, body }] of rows.entries()) {
    const { payload } = await app.inject(`/v1/rows/${index}`)
    const parsed: unknown = parser.parse(payload)
    t.equal(payload, body, about)
    t.ok(parsed, about)
  }
  const { payload } = await app.inject('/v1/rows/0')
  t.equal(parser.parse(payload).id, big)
})

t.test('responses of all methods and statuses with JSON have twins', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  const schema = { response: { '2xx': object({ id }), '4xx': object({ id }) } }
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
  for (const method of methods) {
    app.route<{ Params: { code: 200 } }>({
      method,
      url: '/v1/users/:code',
      schema,
      handler: (request, reply) => reply.code(Number(request.params.code) as 200).send({ id: big }),
    })
  }
  for (const method of methods) {
    for (const code of [200, 201, 202, 404]) {
      const { statusCode, payload } = await app.inject({ method, url: `/v1/users/${code}` })
      t.strictSame([statusCode, payload], [code, `{${twin}}`], `${method} ${code}`)
    }
  }
})

async function service() {
  const app = Fastify()
  await app.register(integerTwins)
  app.addSchema({ $id: 'user', ...object({ id }) })
  for (const [index, { schema, value }] of rows.entries()) {
    const options = schema === undefined ? {} : { schema: { response: { 200: schema } } }
    app.get(`/v1/rows/${index}`, options, (_, reply) => reply.send(value))
  }
  return app
}
