/** The selection of fields, case by case, on the bytes of the wire. */
import Fastify from 'fastify'
import t from 'tap'
import { fields, integerTwins, problems } from '../../../src/index.js'
import { isProblem } from '../../support/problem.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const deep = {
  type: 'object',
  properties: {
    b: {
      type: 'object',
      properties: { c: { type: 'object', properties: { d: { type: 'object', properties: { e: text } } } } },
    },
  },
}
const user = {
  type: 'object',
  required: ['id', 'name', 'age'],
  properties: {
    id,
    name: text,
    age: { type: 'integer' },
    address: { type: 'object', properties: { city: text, zip: text } },
    a: deep,
  },
}
const ada = {
  id: 9_007_199_254_740_993n,
  name: 'Ada',
  age: 36,
  address: { city: 'London', zip: 'W1' },
  a: { b: { c: { d: { e: 'deep' } } } },
  password: 'not in the schema',
}
const idAndTwin = '"id":9007199254740993,"id_str":"9007199254740993"'
const all = `{${idAndTwin},"name":"Ada","age":36,"address":{"city":"London","zip":"W1"},"a":{"b":{"c":{"d":{"e":"deep"}}}}}`

const answered: readonly (readonly [about: string, target: string, body: string])[] = [
  ['none, no default: all', '/v1/users/1', all],
  ['none, the default of the route', '/v1/defaults/1', `{${idAndTwin},"address":{"city":"London"}}`],
  [
    'exactly those, also where the schema requires more',
    '/v1/users/1?fields=name,age',
    '{"name":"Ada","age":36}',
  ],
  ['in the order of the schema', '/v1/users/1?fields=age,name', '{"name":"Ada","age":36}'],
  [
    'per item of a list; the member and paging stay',
    '/v1/users?fields=name',
    '{"users":[{"name":"Ada"},{"name":"Ada"}],"total":2}',
  ],
  ['nested', '/v1/users/1?fields=address.city', '{"address":{"city":"London"}}'],
  [
    'nested, in each item of a list',
    '/v1/users?fields=address.zip',
    '{"users":[{"address":{"zip":"W1"}},{"address":{"zip":"W1"}}],"total":2}',
  ],
  ['*: every field of the schema', '/v1/users/1?fields=*', all],
  ['*: also where there is a default', '/v1/defaults/1?fields=*', all],
  ['given twice: the union', '/v1/users/1?fields=name&fields=age', '{"name":"Ada","age":36}'],
  ['with spaces', '/v1/users/1?fields=name,%20age', '{"name":"Ada","age":36}'],
  ['with + for a space', '/v1/users/1?fields=name,+age', '{"name":"Ada","age":36}'],
  ['an encoded comma', '/v1/users/1?fields=name%2Cage', '{"name":"Ada","age":36}'],
  ['repeats', '/v1/users/1?fields=name,name&fields=name', '{"name":"Ada"}'],
  ['id and its twin are together', '/v1/users/1?fields=id', `{${idAndTwin}}`],
  ['whichever of both is named', '/v1/users/1?fields=id_str', `{${idAndTwin}}`],
  ['64 names', `/v1/users/1?fields=${Array(64).fill('name').join()}`, '{"name":"Ada"}'],
  ['1,024 characters', `/v1/users/1?fields=name${'+'.repeat(1020)}`, '{"name":"Ada"}'],
  ['a depth of 4', '/v1/users/1?fields=a.b.c.d', '{"a":{"b":{"c":{"d":{"e":"deep"}}}}}'],
  ['beside other parameters', '/v1/users/1?x=1&fields=name&y=', '{"name":"Ada"}'],
]

const names = 'The fields are id, name, age, address, a'
const ofAddress = 'The fields of address are city, zip'
const wrong = (message: string): object => ({ in: 'query', name: 'fields', message })
const unknown = (name: string): object => wrong(`'${name}' is not among the fields`)
const refused: readonly (readonly [target: string, detail: string, errors: object[]])[] = [
  ['fields=nope', `Not among the fields: nope. ${names}`, [unknown('nope')]],
  ['fields=name,nope,none', `Not among the fields: nope, none. ${names}`, [unknown('nope'), unknown('none')]],
  ['fields=password', `Not among the fields: password. ${names}`, [unknown('password')]],
  [
    'fields=address.street',
    `Not among the fields: address.street. ${ofAddress}`,
    [unknown('address.street')],
  ],
  ['fields=name.length', `Not among the fields: name.length. ${names}`, [unknown('name.length')]],
  ['fields=age_str', `Not among the fields: age_str. ${names}`, [unknown('age_str')]],
  ['fields=*.nope', `Not among the fields: *.nope. ${names}`, [unknown('*.nope')]],
  ['fields=*.name', `Not among the fields: *.name. ${names}`, [unknown('*.name')]],
  ['fields=name,*.*', `Not among the fields: *.*. ${names}`, [unknown('*.*')]],
  ['fields=id_str.nope', `Not among the fields: id_str.nope. ${names}`, [unknown('id_str.nope')]],
  ['fields=id,id_str.0', `Not among the fields: id_str.0. ${names}`, [unknown('id_str.0')]],
  [
    'fields=address,address.nope',
    `Not among the fields: address.nope. ${ofAddress}`,
    [unknown('address.nope')],
  ],
  [
    'fields=address.nope,address,address.city',
    `Not among the fields: address.nope. ${ofAddress}`,
    [unknown('address.nope')],
  ],
  ['fields=name&fields=name.nope', `Not among the fields: name.nope. ${names}`, [unknown('name.nope')]],
  ['fields=*,nope', `Not among the fields: nope. ${names}`, [unknown('nope')]],
  ['fields=__proto__', `Not among the fields: __proto__. ${names}`, [unknown('__proto__')]],
  ['fields=constructor', `Not among the fields: constructor. ${names}`, [unknown('constructor')]],
  [
    'fields=toString,hasOwnProperty',
    `Not among the fields: toString, hasOwnProperty. ${names}`,
    [unknown('toString'), unknown('hasOwnProperty')],
  ],
  [
    'fields=address.__proto__',
    `Not among the fields: address.__proto__. ${ofAddress}`,
    [unknown('address.__proto__')],
  ],
  ['fields=Name', `Not among the fields: Name. ${names}`, [unknown('Name')]],
  ...['fields=', 'fields', 'fields=,', 'fields=name,', 'fields=+', 'fields=name&fields='].map(
    (query): [string, string, object[]] => [
      query,
      `fields has an empty name. ${names}`,
      [wrong('has an empty name')],
    ],
  ),
  [
    `fields=${Array(65).fill('name').join()}`,
    `fields has more than 64 names. ${names}`,
    [wrong('has more than 64 names')],
  ],
  [
    `fields=name${'+'.repeat(1021)}`,
    `fields has more than 1024 characters. ${names}`,
    [wrong('has more than 1024 characters')],
  ],
  [
    `fields=${','.repeat(10_000)}`,
    `fields has more than 1024 characters. ${names}`,
    [wrong('has more than 1024 characters')],
  ],
  [
    'fields=a.b.c.d.e',
    `fields goes deeper than 4: a.b.c.d.e. ${names}`,
    [wrong('goes deeper than 4: a.b.c.d.e')],
  ],
]

t.test('the response, byte for byte', async (t) => {
  const { port } = await serve(t, await service())
  for (const [about, target, body] of answered) {
    const answer = await ask(port, requestBytes('GET', target))
    t.equal(answer.status, 200, about)
    t.equal(answer.body, body, about)
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8', about)
    t.equal(answer.headers['content-length'], String(Buffer.byteLength(body)), about)
  }
})

t.test('HEAD has the headers of GET, without the body', async (t) => {
  const { port } = await serve(t, await service())
  for (const [about, target, body] of answered) {
    const answer = await ask(port, requestBytes('HEAD', target))
    t.equal(answer.status, 200, about)
    t.equal(answer.body, '', about)
    t.equal(answer.headers['content-length'], String(Buffer.byteLength(body)), about)
  }
  t.equal((await ask(port, requestBytes('HEAD', '/v1/users/1?fields=nope'))).status, 400)
})

t.test('invalid names are a 400 with the allowed ones; the handler does not run', async (t) => {
  let runs = 0
  const { port } = await serve(t, await service(() => runs++))
  for (const [query, detail, errors] of refused) {
    const answer = await ask(port, requestBytes('GET', `/v1/users/1?${query}`))
    isProblem(
      t,
      answer,
      { status: 400, code: 'fields-invalid', title: 'Invalid fields', detail, errors },
      query.slice(0, 60),
    )
  }
  t.equal(runs, 0)
})

t.test('invalid names of a list are a 400 with the fields of its items', async (t) => {
  const { port } = await serve(t, await service())
  for (const query of ['fields=users', 'fields=total', 'fields=users.name']) {
    const answer = await ask(port, requestBytes('GET', `/v1/users?${query}`))
    isProblem(t, answer, { status: 400, code: 'fields-invalid', detail: new RegExp(`${names}$`) }, query)
  }
})

t.test(
  'a refusal is a problem without the plugin problems too, unless refusals is errorHandler',
  async (t) => {
    const response = { 200: user }
    const alone = Fastify()
    await alone.register(fields)
    alone.get('/v1/users/:id', { schema: { response } }, () => ada)
    const refusal = await ask((await serve(t, alone)).port, requestBytes('GET', '/v1/users/1?fields=nope'))
    isProblem(t, refusal, {
      status: 400,
      code: 'fields-invalid',
      detail: `Not among the fields: nope. ${names}`,
    })

    const handled = Fastify()
    await handled.register(problems, { mode: 'off', refusals: 'errorHandler' })
    await handled.register(fields)
    handled.setErrorHandler<Error & { code: string; statusCode: number }>((error, _, reply) =>
      reply.code(error.statusCode).send({ mine: error.code }),
    )
    handled.get('/v1/users/:id', { schema: { response } }, () => ada)
    const answer = await handled.inject('/v1/users/1?fields=nope')
    t.strictSame([answer.statusCode, answer.json()], [400, { mine: 'fields-invalid' }])
  },
)

async function service(onRun: () => void = () => {}) {
  const app = Fastify({ maxParamLength: 1000 })
  await app.register(problems)
  await app.register(fields)
  await app.register(integerTwins)
  const one = { schema: { response: { 200: user } } }
  app.get('/v1/users/:id', one, () => {
    onRun()
    return ada
  })
  app.get('/v1/defaults/:id', { ...one, config: { fields: { default: ['id', 'address.city'] } } }, () => ada)
  const list = {
    type: 'object',
    properties: { users: { type: 'array', items: user }, total: { type: 'integer' } },
  }
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [ada, ada], total: 2 }))
  return app
}
