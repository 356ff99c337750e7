/** "`request.fields` tells the handler what is wanted, so that it can read only those columns." */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type FieldSelection, fields, integerTwins } from '../../../src/index.js'

const invalid = { code: 'FST_CONV_OPTION_INVALID' }
const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const user = {
  type: 'object',
  properties: {
    id,
    name: text,
    age: { type: 'integer' },
    address: { type: 'object', properties: { city: text, zip: id } },
  },
}

t.test('request.fields has the names to read, all paths, and has()', async (t) => {
  const rows: readonly (readonly [query: string, names: string[], paths: string[]])[] = [
    ['fields=name', ['name'], ['name']],
    ['fields=age,name', ['name', 'age'], ['age', 'name']],
    ['fields=address.city', ['address'], ['address.city']],
    ['fields=address.zip,address.city,id', ['id', 'address'], ['address.zip', 'address.city', 'id']],
    ['fields=address,address.city', ['address'], ['address']],
    ['fields=id_str', ['id'], ['id']],
    ['fields=address.zip_str', ['address'], ['address.zip']],
    ['fields=name&fields=name', ['name'], ['name']],
  ]
  for (const [query, names, paths] of rows) {
    const selection = await selectionOf(`/v1/users/1?${query}`)
    t.strictSame(selection?.names, names, query)
    t.strictSame(selection?.paths, paths, query)
    for (const path of paths) t.equal(selection?.has(path), true, `${query}: has ${path}`)
    for (const path of ['nope', 'address.nope', '__proto__', 'toString', '']) {
      t.equal(
        selection?.has(path),
        paths.includes('address') && path === 'address.nope',
        `${query}: has no ${path}`,
      )
    }
  }
})

t.test('request.fields is null without a selection', async (t) => {
  for (const target of ['/v1/users/1', '/v1/users/1?fields=*', '/v1/schemaless', '/v1/off?fields=name']) {
    t.equal(await selectionOf(target), null, target)
  }
  t.equal(await selectionOf('/v1/users', 'POST'), null, 'POST')
})

t.test('the default of the route is a selection', async (t) => {
  const selection = await selectionOf('/v1/defaults')
  t.strictSame(selection?.names, ['id', 'address'])
  t.strictSame(selection?.paths, ['id', 'address.city'])
})

t.test('HEAD selects as GET does', async (t) => {
  t.strictSame((await selectionOf('/v1/users/1?fields=name', 'HEAD'))?.names, ['name'])
})

t.test('the names of a list are those of an item', async (t) => {
  const selection = await selectionOf('/v1/users?fields=address.city,name')
  t.strictSame(selection?.names, ['name', 'address'])
})

t.test('the selection is frozen, because equal requests share it', async (t) => {
  const selection = await selectionOf('/v1/users/1?fields=name')
  for (const list of [selection?.names, selection?.paths]) {
    t.throws(() => (list as string[]).push('age'), { name: 'TypeError' })
  }
})

t.test('the type of request.fields is declared by the import of the plugin', async (t) => {
  const app = Fastify()
  await app.register(fields)
  app.get('/v1/typed', (request) => {
    const wanted: readonly string[] = request.fields?.names ?? []
    const has: boolean | undefined = request.fields?.has('name')
    const set = (): void => {
      // @ts-expect-error: it is read, never set
      request.fields = null
    }
    // @ts-expect-error: a selection may be absent
    const names = (): readonly string[] => request.fields.names
    return { wanted, has: has ?? null, set: typeof set, names: typeof names }
  })
  // @ts-expect-error: a default is a list
  t.throws(() => app.get('/a', { config: { fields: { default: 'name' } } }, () => 1), invalid)
  t.strictSame((await app.inject('/v1/typed')).json(), {
    wanted: [],
    has: null,
    set: 'function',
    names: 'function',
  })
  // @ts-expect-error: there is no such option
  await t.rejects(async () => Fastify().register(fields, { maxName: 1 }), { code: 'FST_CONV_OPTION_UNKNOWN' })
})

async function selectionOf(
  url: string,
  method: 'GET' | 'HEAD' | 'POST' = 'GET',
): Promise<FieldSelection | null | undefined> {
  const seen: (FieldSelection | null)[] = []
  const app = await service((selection) => seen.push(selection))
  await app.inject({ method, url })
  return seen[0]
}

async function service(see: (selection: FieldSelection | null) => void): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(fields)
  await app.register(integerTwins)
  const schema = { response: { 200: user } }
  const list = { type: 'object', properties: { users: { type: 'array', items: user } } }
  app.addHook('preSerialization', async (request, _reply, payload) => {
    see(request.fields)
    return payload
  })
  app.get('/v1/users/:id', { schema }, () => ({}))
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [] }))
  app.post('/v1/users', { schema }, () => ({}))
  app.get('/v1/schemaless', () => ({}))
  app.get('/v1/off', { schema, config: { fields: false } }, () => ({}))
  app.get('/v1/defaults', { schema, config: { fields: { default: ['id', 'address.city'] } } }, () => ({}))
  return app
}
