/** The selection of members that the response schema does not name: maps, open objects, alternatives. */
import Fastify from 'fastify'
import t from 'tap'
import { fields } from '../../../src/index.js'
import { array, bodyOf, int64, object, text } from './one-route.js'

const big = 9_007_199_254_740_993n
const open = { additionalProperties: true }
const ofBig = '"n":9007199254740993,"n_str":"9007199254740993"'
const both = { n: big, n_str: `${big}` }

t.test('a number and its twin are written once, whichever is selected', async (t) => {
  const [openObject, declared] = [object({ a: text }, open), object({ n: int64 }, open)]
  const pattern = object({ a: text }, { patternProperties: { '^n': {} } })
  const rows: readonly (readonly [query: string, schema: object, value: object, body?: string])[] = [
    ['n', openObject, { ...both, z: 1 }],
    ['n,n_str', openObject, { ...both, z: 1 }],
    ['n_str,n', openObject, both],
    ['n_str', declared, { n: big, n_str: 'x' }],
    ['n,n_str', declared, { n: big, n_str: 'x' }],
    ['n_str,n', pattern, both],
    ['any.n,any.n_str', object({ any: {} }), { any: both }, `{"any":{${ofBig}}}`],
  ]
  for (const [query, schema, value, body = `{${ofBig}}`] of rows)
    t.equal(await bodyOf(`?fields=${query}`, schema, value), body, `${query} of ${JSON.stringify(schema)}`)
})

t.test('a member with the name of an unnecessary twin is an ordinary field', async (t) => {
  const schema = object({ any: {} }, open)
  const value = { n: 5, n_str: 'five', any: { n: 5, n_str: 'five' } }
  t.equal(await bodyOf('?fields=n,any.n', schema, value), '{"any":{"n":5},"n":5}')
  t.equal(await bodyOf('?fields=n_str,any.n_str', schema, value), '{"any":{"n_str":"five"},"n_str":"five"}')
})

t.test('hiding a field removes only that field', async (t) => {
  const withSecret = object({ a: text, secret: text })
  const openWithSecret = object({ a: text, secret: text }, open)
  const either = {
    anyOf: ['a', 'b'].map((name) => object({ kind: { const: name }, secret: text, [name]: text })),
  }
  const map = (values: object): object => object({ m: { type: 'object', additionalProperties: values } })
  const b = { kind: 'b', secret: 's', b: 'b' }
  const m = { x: { a: 'a', secret: 's' }, y: { a: 'a', secret: 's' } }
  const matrix = array(array(openWithSecret))
  const beside = object({ pair: array([object({ secret: text }), text]), secret: text })
  const pair = [{ secret: 's' }]
  const manyBig = { n: big, n_str: `${big}`, a: 'a', m: big }
  const shown = '{"a":"a","m":9007199254740993,"m_str":"9007199254740993"}'
  type Row = readonly [about: string, path: string, schema: object, value: object, body: string]
  const rows: readonly Row[] = [
    ['open', 'secret', openWithSecret, { a: 'a', secret: 's', x: 1 }, '{"a":"a","x":1}'],
    ['a map', 'm.secret', map(text), { m: { x: 'x', secret: 's' } }, '{"m":{"x":"x"}}'],
    ['of a value', 'm.x.secret', map(withSecret), { m }, '{"m":{"x":{"a":"a"},"y":{"a":"a","secret":"s"}}}'],
    ['not described', 'any.secret', object({ any: {} }), { any: [{ secret: 's' }, 's'] }, '{"any":[{},"s"]}'],
    ['of both alternatives', 'o.secret', object({ o: either }), { o: b }, '{"o":{"kind":"b","b":"b"}}'],
    ['items of items', 'o.secret', object({ o: matrix }), { o: [[{ secret: 's' }], []] }, '{"o":[[{}],[]]}'],
    ['beside a tuple', 'secret', beside, { pair, secret: 's' }, '{"pair":[{"secret":"s"}]}'],
    ['of null', 'o.secret', object({ o: { ...withSecret, nullable: true } }), { o: null }, '{"o":null}'],
    ['with its twin', 'n', object({ a: text }, open), manyBig, shown],
  ]
  for (const [about, path, schema, value, body] of rows) {
    for (const hides of [true, () => true] as const) {
      const config = { hidden: { [path]: hides } }
      t.equal(await bodyOf('', schema, value, { config }), body, about)
      t.equal(await bodyOf('?fields=*', schema, value, { config }), body, `${about}, of *`)
      const asked = await bodyOf(`?fields=${path}`, schema, value, { config })
      t.match(asked, 'fields-invalid', `${about}, asked for`)
    }
    const seen = await bodyOf('', schema, value, { config: { hidden: { [path]: () => false } } })
    t.equal(seen, await bodyOf('', schema, value), `${about}, not hidden from this request`)
  }
})

t.test('in a recursive schema a path applies to its own place only', async (t) => {
  const node = {
    $id: 'node',
    ...object({ name: text, secret: text, child: { anyOf: [{ type: 'null' }, { $ref: 'node#' }] } }),
  }
  const app = Fastify()
  await app.register(fields)
  app.addSchema(node)
  const leaf = { name: 'c', secret: 's', child: null }
  const root = { name: 'a', secret: 's', child: { name: 'b', secret: 's', child: leaf } }
  const hidden = { secret: true as const, 'child.secret': true as const }
  app.get(
    '/v1/nodes/:id',
    { schema: { response: { 200: { $ref: 'node#' } } }, config: { fields: { hidden } } },
    () => root,
  )
  const rows = [
    ['', '{"name":"a","child":{"name":"b","child":{"name":"c","secret":"s","child":null}}}'],
    ['?fields=child.child.child.name', '{"child":{"child":{"child":null}}}'],
  ] as const
  for (const [query, body] of rows) t.equal((await app.inject(`/v1/nodes/1${query}`)).payload, body, query)
  t.equal((await app.inject('/v1/nodes/1?fields=child.secret')).statusCode, 400)
})

t.test('with hidden fields, request.fields.has() is true for unnamed members', async (t) => {
  const app = Fastify()
  await app.register(fields)
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

t.test('of values without a schema, only own enumerable properties are sent', async (t) => {
  class User {
    readonly name = 'Ada'
    get passwordHash(): string {
      return 'hash'
    }
    save(): void {}
  }
  const value = Object.defineProperty(new User(), 'concealed', { value: 'x', enumerable: false })
  t.equal(await bodyOf('', object({ id: int64 }, open), value), '{"name":"Ada"}')
  for (const name of ['passwordHash', 'save', 'concealed', 'toString']) {
    t.equal(await bodyOf(`?fields=${name}`, object({ id: int64 }, open), value), '{}', name)
    const body = await bodyOf(`?fields=any.${name}`, object({ any: {} }), { any: value })
    t.equal(body, '{"any":{}}', `any.${name}`)
  }
})
