/** The selection of fields, case by case, on the bytes of the wire. */
import Fastify from 'fastify'
import t from 'tap'
import { fields, integerTwins, problems } from '../../../src/index.js'
import { isProblem } from '../../support/problem.js'
import { ask, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { array, int64, object, text } from './one-route.js'

const user = object(
  {
    id: int64,
    name: text,
    age: { type: 'integer' },
    address: object({ city: text, zip: text }),
    a: object({ b: object({ c: object({ d: object({ e: text }) }) }) }),
  },
  { required: ['id', 'name', 'age'] },
)
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
  ['nested', '/v1/users/1?fields=address.city', '{"address":{"city":"London"}}'],
  ['nested, in each item of a list', '/v1/users?fields=address.zip', zips],
  ['*: every field of the schema', '/v1/users/1?fields=*', all],
  ['*, and a name', '/v1/users/1?fields=name,*', all],
  ['*: also where there is a default', '/v1/defaults/1?fields=*', all],
  ['given twice: the union', '/v1/users/1?fields=name&fields=age', nameAndAge],
  ['with spaces', '/v1/users/1?fields=name,%20age', nameAndAge],
  ['a number with its twin, whichever is named', '/v1/users/1?fields=id_str', `{${idAndTwin}}`],
  ['64 names', `/v1/users/1?fields=${Array(64).fill('name').join()}`, '{"name":"Ada"}'],
  ['1,024 characters', `/v1/users/1?fields=name${'+'.repeat(1020)}`, '{"name":"Ada"}'],
  ['a depth of 4', '/v1/users/1?fields=a.b.c.d', '{"a":{"b":{"c":{"d":{"e":"deep"}}}}}'],
  ['beside other parameters', '/v1/users/1?x=1&fields=name&y=', '{"name":"Ada"}'],
]

const names = 'The fields are id, name, age, address, a'
const ofAddress = 'The fields of address are city, zip'
const wrong = (message: string): object => ({ in: 'query', name: 'fields', message })
const unknown: readonly (readonly [query: string, unknown: readonly string[], above?: string])[] = [
  ['name,nope,none', ['nope', 'none']],
  ['password', ['password']],
  ['address.street', ['address.street'], ofAddress],
  ['a.b.nope', ['a.b.nope'], 'The fields of a.b are c'],
  ['a.nope.deeper', ['a.nope.deeper'], 'The fields of a are b'],
  ['nope,address.none', ['nope', 'address.none']],
  ['name.length', ['name.length']],
  ['age_str', ['age_str']],
  ['*.name', ['*.name']],
  ['id,id_str.0', ['id_str.0']],
  ['address.nope,address,address.city', ['address.nope'], ofAddress],
  ['name&fields=name.nope', ['name.nope']],
  ['*,nope', ['nope']],
  ['__proto__', ['__proto__']],
  ['toString,hasOwnProperty', ['toString', 'hasOwnProperty']],
  ['Name', ['Name']],
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
  const { port } = await serve(t, await service())
  for (const [about, target, body] of answered) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(port, requestBytes(method, target))
      t.strictSame([answer.status, answer.body], [200, method === 'GET' ? body : ''], about)
      t.equal(answer.headers['content-type'], 'application/json; charset=utf-8', about)
      t.equal(answer.headers['content-length'], String(Buffer.byteLength(body)), about)
    }
  }
  t.equal((await ask(port, requestBytes('HEAD', '/v1/users/1?fields=nope'))).status, 400)
  t.strictSame(ada, before, 'the object of the handler, which all responses share, is not changed')
})

t.test('invalid names are a 400 with the allowed ones; the handler does not run', async (t) => {
  let runs = 0
  const { port } = await serve(t, await service(() => runs++))
  const refused = async (query: string, detail: string, errors: readonly object[], path = '/v1/users/1') => {
    const answer = await ask(port, requestBytes('GET', `${path}?fields${query}`))
    const problem = { status: 400, code: 'fields-invalid', title: 'Invalid fields', detail, errors }
    isProblem(t, answer, problem, query.slice(0, 60))
  }
  for (const [query, fields, above = names] of unknown) {
    const errors = fields.map((name) => wrong(`'${name}' is not among the fields`))
    await refused(`=${query}`, `Not among the fields: ${fields.join(', ')}. ${above}`, errors)
  }
  // Of a list, the fields are those of its items.
  for (const name of ['users', 'total', 'users.name']) {
    const errors = [wrong(`'${name}' is not among the fields`)]
    await refused(`=${name}`, `Not among the fields: ${name}. ${names}`, errors, '/v1/users')
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
  const list = object({ users: array(user), total: { type: 'integer' } })
  app.route({ method: ['GET', 'POST'], url: '/v1/both', ...one, handler: () => ada })
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [ada, ada], total: 2 }))
  return app
}
