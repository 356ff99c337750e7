/** The selection of fields, case by case; also of members that no schema names; and what is left alone. */
import Fastify from 'fastify'
import t from 'tap'
import { fields, integerTwins, lists, problems } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { injected, isProblem } from '../../support/problem.js'
import { type Answers, isUntouched, unwritten } from '../../support/untouched.js'
import { array, bodyOf, int64, object, text } from './one-route.js'

const deep = object({ b: object({ c: object({ d: object({ e: text }) }) }) })
const address = object({ city: text, zip: text })
const members = { id: int64, name: text, age: { type: 'integer' }, address, a: deep }
const user = object(members, { required: ['id', 'name', 'age'] })
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

const nameAndAge = '{"name":"Ada","age":36}'
const zips = '{"users":[{"address":{"zip":"W1"}},{"address":{"zip":"W1"}}],"total":2}'
const answered: readonly (readonly [about: string, target: string, body: string])[] = [
  ['none, no default: all', '/v1/users/1', all],
  ['none, the default of the route', '/v1/defaults/1', `{${idAndTwin},"address":{"city":"London"}}`],
  ['the default has no say', '/v1/defaults/1?fields=name', '{"name":"Ada"}'],
  ['exactly those, though more are required', '/v1/users/1?fields=age,name', nameAndAge],
  ['of a list', '/v1/users?fields=name', '{"users":[{"name":"Ada"},{"name":"Ada"}],"total":2}'],
  ['of a route with several methods', '/v1/both?fields=name', '{"name":"Ada"}'],
  ['nested, in each item of a list', '/v1/users?fields=address.zip', zips],
  ['*: every field of the schema', '/v1/users/1?fields=*', all],
  ['*, and a name', '/v1/users/1?fields=name,*', all],
  ['*: also where there is a default', '/v1/defaults/1?fields=*', all],
  ['given twice: the union', '/v1/users/1?x=1&fields=name&fields=%20age&y=', nameAndAge],
  ['a number with its twin, whichever is named', '/v1/users/1?fields=id_str', `{${idAndTwin}}`],
  ['64 names', `/v1/users/1?fields=${Array(64).fill('name').join()}`, '{"name":"Ada"}'],
  ['1,024 characters', `/v1/users/1?fields=name${'+'.repeat(1020)}`, '{"name":"Ada"}'],
  ['a depth of 4', '/v1/users/1?fields=a.b.c.d', '{"a":{"b":{"c":{"d":{"e":"deep"}}}}}'],
]

const names = 'The fields are id, name, age, address, a'
const ofAddress = 'The fields of address are city, zip'
const wrong = (message: string): object => ({ in: 'query', name: 'fields', message })
type Unknown = readonly [query: string, unknown: readonly string[], above?: string, path?: string]
const unknown: readonly Unknown[] = [
  ['name,nope,none', ['nope', 'none']],
  ['address.street', ['address.street'], ofAddress],
  ['a.b.nope', ['a.b.nope'], 'The fields of a.b are c'],
  ['a.nope.deeper', ['a.nope.deeper'], 'The fields of a are b'],
  ['age_str', ['age_str']],
  ['*.name', ['*.name']],
  ['id,id_str.0', ['id_str.0']],
  ['address.nope,address,address.city', ['address.nope'], ofAddress],
  ['*,nope', ['nope']],
  ['__proto__', ['__proto__']],
  ['toString,Name', ['toString', 'Name']],
  // Of a list, the fields are those of its items.
  ['users,total,users.name', ['users', 'total', 'users.name'], names, '/v1/users'],
]
const malformed: readonly (readonly [query: string, fault: string])[] = [
  ...['=', '', '=,', '=name,', '=+', '=name&fields='].map((query) => [query, 'has an empty name'] as const),
  [`=${Array(65).fill('name').join()}`, 'has more than 64 names'],
  [`=name${'+'.repeat(1021)}`, 'has more than 1024 characters'],
  [`=${','.repeat(10_000)}`, 'has more than 1024 characters'],
  ['=a.b.c.d.e', 'goes deeper than 4: a.b.c.d.e'],
]

t.test('the response, byte for byte; HEAD has the headers of GET, without the body', async (t) => {
  const before = structuredClone(ada)
  const app = await service()
  for (const [about, url, body] of answered) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, headers, payload } = await app.inject({ method, url })
      t.strictSame([statusCode, payload], [200, method === 'GET' ? body : ''], about)
      t.equal(headers['content-type'], 'application/json; charset=utf-8', about)
      t.equal(headers['content-length'], String(Buffer.byteLength(body)), about)
    }
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/users/1?fields=nope' })).statusCode, 400)
  t.strictSame(ada, before, 'the object of the handler, which all responses share, is not changed')
})

t.test('invalid names are a 400 with the allowed ones; the handler does not run', async (t) => {
  let runs = 0
  const app = await service(() => runs++)
  const refused = async (query: string, detail: string, errors: readonly object[], path = '/v1/users/1') => {
    const answer = injected(await app.inject(`${path}?fields${query}`))
    const problem = { status: 400, code: 'fields-invalid', title: 'Invalid fields', detail, errors }
    isProblem(t, answer, problem, query.slice(0, 60))
  }
  for (const [query, fields, above = names, path] of unknown) {
    const errors = fields.map((name) => wrong(`'${name}' is not among the fields`))
    await refused(`=${query}`, `Not among the fields: ${fields.join(', ')}. ${above}`, errors, path)
  }
  for (const [query, fault] of malformed) await refused(query, `fields ${fault}. ${names}`, [wrong(fault)])
  t.equal(runs, 0)
})

t.test('a refusal is short, however many and long the names are', async (t) => {
  const app = await service()
  const refused = async (names: readonly string[]) =>
    (await app.inject(`/v1/users/1?fields=${names.join()}`)).json()
  t.equal((await refused(Array.from({ length: 64 }, (_, index) => `n${index}`))).errors.length, 20)
  const { detail, errors } = await refused(['x'.repeat(1000)])
  t.ok(detail.length < 200)
  t.ok(errors[0].message.length < 150)
})

const open = { additionalProperties: true }

t.test('a hidden field is left out and refused, also where no name is unknown', async (t) => {
  const secret = object({ a: text, secret: text }, open)
  const map = object({ m: { type: 'object', additionalProperties: secret } })
  const m = { x: { a: 'a', secret: 's' }, y: { secret: 's' } }
  const n = 9_007_199_254_740_993n
  const rows: readonly (readonly [path: string, schema: object, value: object, body: string])[] = [
    ['secret', secret, { a: 'a', secret: 's', x: 1 }, '{"a":"a","x":1}'],
    ['m.x.secret', map, { m }, '{"m":{"x":{"a":"a"},"y":{"secret":"s"}}}'],
    ['any.secret', object({ any: {} }), { any: [{ secret: 's' }, 's'] }, '{"any":[{},"s"]}'],
    ['n', object({ a: text }, open), { n, n_str: `${n}`, a: 'a' }, '{"a":"a"}'],
  ]
  for (const [path, schema, value, body] of rows) {
    const config = { hidden: { [path]: true as const } }
    t.equal(await bodyOf('', schema, value, { config }), body, path)
    t.match(await bodyOf(`?fields=${path}`, schema, value, { config }), 'fields-invalid', path)
  }
})

t.test('in a recursive schema a path applies to its own place only', async (t) => {
  const node = object({ name: text, secret: text, child: { anyOf: [{ type: 'null' }, { $ref: '#' }] } })
  const leaf = { name: 'c', secret: 's', child: null }
  const root = { name: 'a', secret: 's', child: { name: 'b', secret: 's', child: leaf } }
  const config = { hidden: { secret: true, 'child.secret': true } } as const
  for (const [query, body] of [
    ['', '{"name":"a","child":{"name":"b","child":{"name":"c","secret":"s","child":null}}}'],
    ['?fields=child.child.child.name', '{"child":{"child":{"child":null}}}'],
  ] as const)
    t.equal(await bodyOf(query, node, root, { config }), body, query)
  t.match(await bodyOf('?fields=child.secret', node, root, { config }), 'fields-invalid')
})

t.test('with hidden fields, request.fields.has() is true for unnamed members', async (t) => {
  const app = await appOf(fields)
  const schema = { response: { 200: object({ a: text, o: object({ b: text, secret: text }) }, open) } }
  const config = { fields: { hidden: { 'o.secret': true as const } } }
  app.get('/v1/things/:id', { schema, config }, (request) => ({
    wanted: ['a', 'o', 'o.b', 'o.secret', 'other', 'o.other'].filter((path) => request.fields?.has(path)),
  }))
  t.strictSame((await app.inject('/v1/things/1')).json(), { wanted: ['a', 'o', 'o.b', 'other'] })
  t.strictSame((await app.inject('/v1/things/1?fields=wanted')).json(), { wanted: [] })
})

t.test('without the plugin of twins, id_str is a field like any other', async (t) => {
  const schema = object({ id: int64, id_str: text, n: int64 })
  const value = { id: 5, id_str: '5', n: 1 }
  const twins = false
  t.equal(await bodyOf('?fields=id_str', schema, value, { twins }), '{"id_str":"5"}')
  t.equal(await bodyOf('?fields=id,id_str', schema, value, { twins }), '{"id":5,"id_str":"5"}')
  t.match(await bodyOf('?fields=n_str', schema, value, { twins }), 'fields-invalid')
  const config = { hidden: { n: true as const } }
  t.equal(await bodyOf('', schema, value, { twins, config }), '{"id":5,"id_str":"5"}')
})

t.test('two valid names are valid together', async (t) => {
  const either = object({ o: { anyOf: ['x', 'y'].map((name) => object({ p: object({ [name]: text }) })) } })
  for (const names of ['o.p.x', 'o.p.y', 'o.p.x,o.p.y'])
    t.equal(await bodyOf(`?fields=${names}`, either, {}), '{}', names)
})

const named = object({ id: { type: 'integer' }, name: text })
const eve = { id: 1, name: 'Eve' }
const response = { 200: named, 202: named, 204: { type: 'null' }, '4xx': named, '5xx': named }
const schema = { response }
const length2 = { connection: 'close', 'content-length': '2' }

const answers: Answers = {
  ...unwritten({ schema }),
  accepted: [(reply) => reply.code(202).send(eve), { schema }],
  'no-content': [(reply) => reply.code(204).send(), { schema }],
  null: [(reply) => reply.send(null), { schema: { response: { 201: named } } }],
  choices: [(reply) => reply.code(300).send(eve), { schema: { response: { 200: named, 300: named } } }],
  redirect: [(reply) => reply.redirect('/elsewhere'), { schema }],
  'not-modified': [(reply) => reply.code(304).send(), { schema }],
  'sent-error': [(reply) => reply.code(404).send(eve), { schema }],
  'not-found': [(reply) => reply.callNotFound(), { schema }],
  hijacked: [(reply) => void reply.hijack().raw.writeHead(200, length2).end('{}'), { schema }],
  'no-schema': [() => eve],
  'no-response-schema': [() => eve, { schema: { querystring: { type: 'object' } } }],
  'string-schema': [() => 'text', { schema: { response: { 200: text } } }],
  off: [() => eve, { schema, config: { fields: false } }],
  'mode-off': [() => eve, { schema, config: { fields: { mode: 'off' } } }],
}

t.test('byte for byte as without the plugin, with a selection and without', async (t) => {
  await isUntouched(t, fields, answers, { queries: ['', '?fields=name'] })
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE']
  await isUntouched(t, fields, { write: [() => eve, { schema }] }, { methods, queries: ['?fields=nope'] })
})

t.test('other statuses of success are projected if they have a schema', async (t) => {
  const app = await appOf(lists, fields)
  const [only200, both]: Record<string, object>[] = [{ 200: named }, { 200: named, 203: named }]
  app.get('/v1/copies/:id', { schema: { response: both } }, (_, reply) => reply.code(203).send(eve))
  app.get('/v1/others/:id', { schema: { response: only200 } }, (_, reply) => reply.code(203).send(eve))
  app.get('/v1/users', { config: { lists: true } }, (_, reply) => reply.code(203).send({ users: [eve] }))
  t.equal((await app.inject('/v1/copies/1?fields=name')).payload, '{"name":"Eve"}')
  t.equal((await app.inject('/v1/others/1?fields=name')).payload, '{"id":1,"name":"Eve"}')
  t.strictSame((await app.inject('/v1/users?fields=name')).json(), { users: [eve] })
})

async function service(onRun: () => void = () => {}) {
  const app = await withPlugins(Fastify({ maxParamLength: 1000 }), problems, fields, integerTwins)
  const one = { schema: { response: { 200: user } } }
  app.get('/v1/users/:id', one, () => {
    onRun()
    return ada
  })
  app.get('/v1/defaults/:id', { ...one, config: { fields: { default: ['id', 'address.city'] } } }, () => ada)
  const list = object({ users: array(user), total: { type: 'integer' } })
  app.route({ method: ['GET', 'POST'], url: '/v1/both', ...one, handler: () => ada })
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [ada, ada], total: 2 }))
  return app
}
