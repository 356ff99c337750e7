/** "Projection … can only narrow what the schema allows, and never mutates the handler's object." */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { fields, integerTwins } from '../../../src/index.js'

const text = { type: 'string' }
const address = { type: 'object', properties: { city: text, zip: text } }
const user = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: text,
    address,
    tags: { type: 'array', items: text },
  },
}
const plain = { id: 1, name: 'Ada', address: { city: 'London', zip: 'W1' }, tags: ['a'], password: 'secret' }
const everyField = '{"id":1,"id_str":"1","name":"Ada","address":{"city":"London","zip":"W1"},"tags":["a"]}'

t.test('one cached object serves requests with different selections at the same time', async (t) => {
  const cached = deepFrozen(structuredClone(plain))
  const app = await service(user, async () => cached)
  const rows = [
    ['?fields=name', '{"name":"Ada"}'],
    ['?fields=address.city,tags', '{"address":{"city":"London"},"tags":["a"]}'],
    ['?fields=id', '{"id":1,"id_str":"1"}'],
    ['', everyField],
    ['?fields=*', everyField],
  ] as const
  const requests = Array.from({ length: 10 }, () => rows).flat()
  const answers = await Promise.all(requests.map(([query]) => app.inject(`/v1/users/1${query}`)))
  for (const [index, answer] of answers.entries()) {
    const [query, body] = requests[index] ?? []
    t.equal(answer.payload, body, String(query))
  }
  t.strictSame(cached, plain)
})

t.test('the handler’s object is not changed, even if it is not frozen', async (t) => {
  const value = structuredClone(plain)
  const app = await service(user, () => value)
  for (const query of ['?fields=name', '?fields=address.city', '', '?fields=nope'])
    await app.inject(`/v1/users/1${query}`)
  t.strictSame(value, plain)
})

t.test('classes: declared members may be getters, other state is not sent', async (t) => {
  class User {
    readonly #name = 'Ada'
    readonly password = 'secret'
    get name(): string {
      return this.#name
    }
    get address(): object {
      return { city: 'London', zip: 'W1' }
    }
    tags(): string[] {
      return []
    }
  }
  const app = await service(
    { ...user, properties: { ...user.properties, tags: undefined } },
    () => new User(),
  )
  t.equal(
    (await app.inject('/v1/users/1?fields=name,address.city')).payload,
    '{"name":"Ada","address":{"city":"London"}}',
  )
  t.equal((await app.inject('/v1/users/1?fields=password')).statusCode, 400)
  t.equal((await app.inject('/v1/users/1?fields=constructor')).statusCode, 400)
})

t.test('toJSON is called first', async (t) => {
  const app = await service(user, () => ({ toJSON: () => plain, name: 'not this one' }))
  t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
})

t.test('a getter that is not selected is not called', async (t) => {
  let reads = 0
  const value = {
    name: 'Ada',
    get address() {
      reads++
      return { city: 'London' }
    },
  }
  const app = await service(user, () => value)
  await app.inject('/v1/users/1?fields=name')
  t.equal(reads, 0)
  await app.inject('/v1/users/1?fields=name,address.city')
  t.equal(reads, 1)
})

t.test('of values without a schema, only own properties are sent', async (t) => {
  class Settings {
    readonly theme = 'dark'
    get inherited(): string {
      return 'from a getter'
    }
  }
  const settings = Object.defineProperty(new Settings(), 'concealed', { value: 'not enumerable' })
  const app = await service({ type: 'object', properties: { name: text, settings: {} } }, () => ({
    name: 'Ada',
    settings,
  }))
  const names = ['theme', 'inherited', 'concealed', 'toString', 'hasOwnProperty']
  const query = names.map((name) => `settings.${name}`).join()
  t.equal((await app.inject(`/v1/users/1?fields=${query}`)).payload, '{"settings":{"theme":"dark"}}')
  t.equal((await app.inject('/v1/users/1?fields=settings')).payload, '{"settings":{"theme":"dark"}}')
})

t.test('own properties may have the names of inherited ones', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  const own = `{${names.map((name) => `"${name}":"own"`).join(',')}}`
  const properties = names.map((name) => `"${name}":{"type":"string"}`).join(',')
  const app = await service(JSON.parse(`{"type":"object","properties":{${properties}}}`), () =>
    JSON.parse(own),
  )
  t.equal((await app.inject(`/v1/users/1?fields=${names.join()}`)).payload, own)
  t.equal((await app.inject('/v1/users/1?fields=__proto__')).payload, '{"__proto__":"own"}')
  const empty = await service(JSON.parse(`{"type":"object","properties":{${properties}}}`), () => ({}))
  t.equal((await empty.inject(`/v1/users/1?fields=${names.join()}`)).payload, '{}')
})

t.test('long integers are exact in a projection', async (t) => {
  const big = 9_007_199_254_740_993n
  const properties = { id: { type: 'integer', format: 'int64' }, any: {}, n: { type: 'integer' } }
  const app = await service({ type: 'object', properties }, () => ({
    id: `${big}`,
    any: { deep: big },
    n: big,
  }))
  const rows: readonly (readonly [names: string, body: string])[] = [
    ['id', `{"id":${big},"id_str":"${big}"}`],
    ['any.deep', `{"any":{"deep":${big},"deep_str":"${big}"}}`],
    ['n', `{"n":${big},"n_str":"${big}"}`],
  ]
  for (const [names, body] of rows)
    t.equal((await app.inject(`/v1/users/1?fields=${names}`)).payload, body, names)
})

t.test('without the twins plugin the digits are exact, and there are no twins', async (t) => {
  const app = Fastify()
  await app.register(fields)
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, () => ({
    ...plain,
    id: 9_007_199_254_740_993n,
  }))
  t.equal((await app.inject('/v1/users/1?fields=id,name')).payload, '{"id":9007199254740993,"name":"Ada"}')
})

async function service(schema: object, handler: () => unknown): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(fields)
  await app.register(integerTwins)
  const response = JSON.parse(JSON.stringify(schema))
  app.get('/v1/users/:id', { schema: { response: { 200: response } } }, handler)
  return app
}

function deepFrozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFrozen(part)
  return Object.freeze(value)
}
