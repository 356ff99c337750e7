/** "`request.fields` tells the handler what is wanted, so that it can read only those columns." */
import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import { type FieldSelection, fields, integerTwins } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { array, int64, object, text } from './one-route.js'

const address = object({ city: text, zip: int64 })
const user = object({ id: int64, name: text, age: { type: 'integer' }, address })

type Row = readonly [target: string, names: string[] | null, paths?: string[], method?: 'HEAD' | 'POST']

t.test('request.fields has the names to read, all paths, and has(); it is null for all', async (t) => {
  const rows: readonly Row[] = [
    ['/v1/users/1?fields=age,name', ['name', 'age'], ['age', 'name']],
    ['/v1/users/1?fields=address.city,id', ['id', 'address'], ['address.city', 'id']],
    ['/v1/users/1?fields=address,address.city', ['address'], ['address']],
    ['/v1/users/1?fields=id_str', ['id'], ['id']],
    ['/v1/users/1?fields=address.zip_str', ['address'], ['address.zip']],
    ['/v1/users/1?fields=name&fields=name', ['name'], ['name'], 'HEAD'],
    ['/v1/defaults', ['id', 'address'], ['id', 'address.city']],
    ['/v1/users?fields=address.city,name', ['name', 'address'], ['address.city', 'name']],
    ['/v1/users/1', null],
    ['/v1/users/1?fields=*', null],
    ['/v1/schemaless', null],
    ['/v1/off?fields=name', null],
    ['/v1/users', null, [], 'POST'],
  ]
  const { app, seen } = await service()
  for (const [url, names, paths = [], method = 'GET'] of rows) {
    await app.inject({ method, url })
    const selection = seen.pop()
    t.strictSame(selection?.names ?? null, names, url)
    if (names === null) continue
    t.strictSame(selection?.paths, paths, url)
    for (const path of paths) t.equal(selection?.has(path), true, `${url}: has ${path}`)
    for (const path of ['nope', 'address.nope', '__proto__', 'constructor', '']) {
      const isBelow = paths.includes('address') && path === 'address.nope'
      t.equal(selection?.has(path), isBelow, `${url}: ${path}`)
    }
  }
})

t.test('equal requests share the latest hundred selections, which are frozen', async (t) => {
  const { app, seen } = await service()
  const ask = async (spaces: number) => {
    await app.inject(`/v1/users/1?fields=name${'+'.repeat(spaces)}`)
    return seen.pop()
  }
  const first = await ask(0)
  for (const list of [first?.names, first?.paths])
    t.throws(() => (list as string[]).push('age'), { name: 'TypeError' })
  for (let spaces = 1; spaces < 100; spaces++) await ask(spaces)
  t.equal(await ask(0), first, '99 others do not displace it')
  for (let spaces = 100; spaces < 200; spaces++) await ask(spaces)
  t.not(await ask(0), first, 'a hundred others do')
})

t.test('selections with hidden fields that are longer than a parameter may be are not kept', async (t) => {
  for (const [length, isKept] of [[1015, true] as const, [1016, false] as const]) {
    const { app, seen } = await service('x'.repeat(length))
    for (let times = 0; times < 2; times++) await app.inject('/v1/hiding?fields=name')
    t.equal(seen[0] === seen[1], isKept, `${length}`)
  }
})

t.test('the type of request.fields is declared by the import of the plugin', async (t) => {
  const typed = (request: FastifyRequest) => {
    // @ts-expect-error: it is read, never set
    request.fields = null
    // @ts-expect-error: a selection may be absent
    return request.fields.names
  }
  t.type(typed, 'function')
  // @ts-expect-error: there is no such option
  await t.rejects(async () => Fastify().register(fields, { maxName: 1 }), { code: 'FST_CONV_OPTION_UNKNOWN' })
})

/** An app that notes what its handlers see in `request.fields`. */
async function service(secret = 'secret') {
  const seen: (FieldSelection | null)[] = []
  const app = await appOf(fields, integerTwins)
  const handler = async (request: FastifyRequest) => {
    seen.push(request.fields)
    return {}
  }
  const schema = { response: { 200: user } }
  app.get('/v1/users/:id', { schema }, handler)
  app.get('/v1/users', { schema: { response: { 200: object({ users: array(user) }) } } }, handler)
  app.post('/v1/users', { schema }, handler)
  app.get('/v1/schemaless', handler)
  app.get('/v1/off', { schema, config: { fields: false } }, handler)
  app.get('/v1/defaults', { schema, config: { fields: { default: ['id', 'address.city'] } } }, handler)
  const hiding = { response: { 200: object({ name: text, [secret]: text }) } }
  app.get('/v1/hiding', { schema: hiding, config: { fields: { hidden: { [secret]: true } } } }, handler)
  return { app, seen }
}
