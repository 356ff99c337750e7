/** "`request.fields` tells the handler what is wanted, so that it can read only those columns." */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type FieldSelection, fields, integerTwins } from '../../../src/index.js'
import { array, int64, object, text } from './one-route.js'

const invalid = { code: 'FST_CONV_OPTION_INVALID' }
const user = object({
  id: int64,
  name: text,
  age: { type: 'integer' },
  address: object({ city: text, zip: int64 }),
})

type Row = readonly [target: string, names: string[] | null, paths?: string[], method?: 'HEAD' | 'POST']

t.test(
  'request.fields has the names to read, all paths, and has(); without a selection it is null',
  async (t) => {
    const rows: readonly Row[] = [
      ['/v1/users/1?fields=name', ['name'], ['name']],
      ['/v1/users/1?fields=age,name', ['name', 'age'], ['age', 'name']],
      ['/v1/users/1?fields=address.city', ['address'], ['address.city']],
      [
        '/v1/users/1?fields=address.zip,address.city,id',
        ['id', 'address'],
        ['address.zip', 'address.city', 'id'],
      ],
      ['/v1/users/1?fields=address,address.city', ['address'], ['address']],
      ['/v1/users/1?fields=id_str', ['id'], ['id']],
      ['/v1/users/1?fields=address.zip_str', ['address'], ['address.zip']],
      ['/v1/users/1?fields=name&fields=name', ['name'], ['name']],
      ['/v1/users/1?fields=name', ['name'], ['name'], 'HEAD'],
      ['/v1/defaults', ['id', 'address'], ['id', 'address.city']],
      ['/v1/users?fields=address.city,name', ['name', 'address'], ['address.city', 'name']],
      ['/v1/users/1', null],
      ['/v1/users/1?fields=*', null],
      ['/v1/schemaless', null],
      ['/v1/off?fields=name', null],
      ['/v1/users', null, [], 'POST'],
    ]
    for (const [target, names, paths = [], method] of rows) {
      const selection = await selectionOf(target, method)
      t.strictSame(selection?.names ?? null, names, target)
      if (names === null) continue
      t.strictSame(selection?.paths, paths, target)
      for (const path of paths) t.equal(selection?.has(path), true, `${target}: has ${path}`)
      for (const path of ['nope', 'address.nope', '__proto__', 'constructor', ''])
        t.equal(
          selection?.has(path),
          paths.includes('address') && path === 'address.nope',
          `${target}: ${path}`,
        )
    }
  },
)

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
    const set = (): void => {
      // @ts-expect-error: it is read, never set
      request.fields = null
    }
    // @ts-expect-error: a selection may be absent
    const names = (): readonly string[] => request.fields.names
    return { has: request.fields?.has('name') ?? null, types: [typeof set, typeof names] }
  })
  // @ts-expect-error: a default is a list
  t.throws(() => app.get('/a', { config: { fields: { default: 'name' } } }, () => 1), invalid)
  t.strictSame((await app.inject('/v1/typed')).json(), { has: null, types: ['function', 'function'] })
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
  const list = object({ users: array(user) })
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
