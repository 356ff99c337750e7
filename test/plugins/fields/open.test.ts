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
  const payloads: readonly (readonly [about: string, schema: object, value: object])[] = [
    ['only the number is there', object({ a: text }, open), { n: big, z: 1 }],
    ['both are there', object({ a: text }, open), { ...both, z: 1 }],
    ['the number is declared', object({ n: { type: 'integer' } }, open), { ...both, z: 1 }],
    ['the number is declared int64', object({ n: int64 }, open), { n: big, n_str: 'x' }],
    ['by a pattern', object({ a: text }, { patternProperties: { '^n': {} } }), both],
    ['of a part that is not described', object({ any: {} }), { any: { ...both, z: 1 } }],
    ['of such a part, only the number', object({ any: {} }), { any: { n: big, z: 1 } }],
  ]
  for (const [about, schema, value] of payloads) {
    const prefix = 'any' in value ? 'any.' : ''
    const body = prefix === '' ? `{${ofBig}}` : `{"any":{${ofBig}}}`
    for (const names of [['n', 'n_str'], ['n_str', 'n'], ['n'], ['n_str']]) {
      // Only the value tells that an integer without a format has a twin, and it is not asked for.
      if (about !== 'the number is declared int64' && !names.includes('n')) continue
      const query = `?fields=${names.map((name) => prefix + name).join()}`
      t.equal(await bodyOf(query, schema, value), body, `${about}: ${query}`)
    }
  }
})

t.test('a member with the name of an unnecessary twin is an ordinary field', async (t) => {
  const schema = object({ any: {} }, open)
  const value = { n: 5, n_str: 'five', any: { n: 5, n_str: 'five' } }
  t.equal(await bodyOf('?fields=n,any.n', schema, value), '{"any":{"n":5},"n":5}')
  t.equal(await bodyOf('?fields=n_str,any.n_str', schema, value), '{"any":{"n_str":"five"},"n_str":"five"}')
})

t.test('the order is that of the schema, then that of the payload', async (t) => {
  const schema = object({ a: text, any: {} }, { patternProperties: { '^p': text }, ...open })
  const value = { z: 1, p: 'p', m: { y: 1, b: 2 }, any: { y: 1, b: 2 }, b: 3, a: 'a' }
  const whole = '{"a":"a","any":{"y":1,"b":2},"z":1,"p":"p","m":{"y":1,"b":2},"b":3}'
  t.equal(await bodyOf('', schema, value), whole)
  for (const names of ['z,p,m,any,b,a', 'a,b,any,m,p,z', 'm,z,a,p,b,any']) {
    t.equal(await bodyOf(`?fields=${names}`, schema, value), whole, names)
  }
  for (const names of ['m.b,any.b,m.y,any.y', 'any.y,m.y,any.b,m.b', 'any.b,any.y,m.b,m.y']) {
    t.equal(await bodyOf(`?fields=${names}`, schema, value), '{"any":{"y":1,"b":2},"m":{"y":1,"b":2}}', names)
  }
})

t.test('hiding a field removes only that field', async (t) => {
  const withSecret = object({ a: text, secret: text })
  const openWithSecret = object({ a: text, secret: text }, open)
  const either = {
    anyOf: ['a', 'b'].map((name) => object({ kind: { const: name }, secret: text, [name]: text })),
  }
  const map = (values: object): object => object({ m: { type: 'object', additionalProperties: values } })
  const [a, b] = ['a', 'b'].map((name) => ({ kind: name, secret: 's', [name]: name }))
  const m = { x: { a: 'a', secret: 's' }, y: { a: 'a', secret: 's' } }
  const nested = { a: 'a', secret: 's', x: 1 }
  const matrix = array(array(openWithSecret))
  const beside = object({ pair: array([object({ secret: text }), text]), secret: text })
  const withDefault = { ...withSecret, default: { a: 'a', secret: 's' } }
  const manyBig = { n: big, n_str: `${big}`, a: 'a', m: big }
  const shown = '{"a":"a","m":9007199254740993,"m_str":"9007199254740993"}'
  type Row = readonly [about: string, path: string, schema: object, value: object, body: string]
  const rows: readonly Row[] = [
    ['open', 'secret', openWithSecret, { a: 'a', secret: 's', x: 1 }, '{"a":"a","x":1}'],
    ['not declared', 'secret', object({ a: text }, open), { secret: 's', x: 1, a: 'a' }, '{"a":"a","x":1}'],
    ['a map', 'm.secret', map(text), { m: { x: 'x', secret: 's' } }, '{"m":{"x":"x"}}'],
    ['of a value', 'm.x.secret', map(withSecret), { m }, '{"m":{"x":{"a":"a"},"y":{"a":"a","secret":"s"}}}'],
    [
      'nested',
      'o.secret',
      object({ o: openWithSecret }, open),
      { o: nested, y: 2 },
      '{"o":{"a":"a","x":1},"y":2}',
    ],
    ['not described', 'any.secret', object({ any: {} }), { any: [{ secret: 's' }, 's'] }, '{"any":[{},"s"]}'],
    ['of the first', 'o.a', object({ o: either }), { o: b }, '{"o":{"kind":"b","secret":"s","b":"b"}}'],
    ['of the second', 'o.b', object({ o: either }), { o: a }, '{"o":{"kind":"a","secret":"s","a":"a"}}'],
    ['of both alternatives', 'o.secret', object({ o: either }), { o: b }, '{"o":{"kind":"b","b":"b"}}'],
    ['at the top of alternatives', 'secret', either, b ?? {}, '{"kind":"b","b":"b"}'],
    ['items of items', 'o.secret', object({ o: matrix }), { o: [[{ secret: 's' }], []] }, '{"o":[[{}],[]]}'],
    [
      'beside a tuple',
      'secret',
      beside,
      { pair: [{ secret: 's' }], secret: 's' },
      '{"pair":[{"secret":"s"}]}',
    ],
    ['of null', 'o.secret', object({ o: { ...withSecret, nullable: true } }), { o: null }, '{"o":null}'],
    ['with its twin', 'n', object({ a: text }, open), manyBig, shown],
    ['of what the default says', 'o.secret', object({ o: withDefault }), {}, '{"o":{"a":"a"}}'],
  ]
  for (const [about, path, schema, value, body] of rows) {
    for (const hides of [true, () => true] as const) {
      const config = { hidden: { [path]: hides } }
      t.equal(await bodyOf('', schema, value, { config }), body, about)
      t.equal(await bodyOf('?fields=*', schema, value, { config }), body, `${about}, of *`)
      t.match(
        await bodyOf(`?fields=${path}`, schema, value, { config }),
        'fields-invalid',
        `${about}, asked for`,
      )
    }
    const seen = await bodyOf('', schema, value, { config: { hidden: { [path]: () => false } } })
    t.equal(seen, await bodyOf('', schema, value), `${about}, not hidden from this request`)
  }
})

t.test('a hidden field is hidden if it is selected together with others', async (t) => {
  const schema = object({ a: text, secret: text }, open)
  const value = { a: 'a', secret: 's', x: 1, y: 2 }
  const config = { hidden: { secret: true as const } }
  t.equal(await bodyOf('?fields=y,x', schema, value, { config }), '{"x":1,"y":2}')
  t.match(await bodyOf('?fields=x,secret', schema, value, { config }), 'fields-invalid')
  const byDefault = { config: { ...config, default: ['y', 'secret', 'a'] } }
  t.equal(await bodyOf('', schema, value, byDefault), '{"a":"a","y":2}')
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
    ['?fields=child.name', '{"child":{"name":"b"}}'],
    ['?fields=child.child.child.name', '{"child":{"child":{"child":null}}}'],
  ] as const
  for (const [query, body] of rows) t.equal((await app.inject(`/v1/nodes/1${query}`)).payload, body, query)
  t.equal((await app.inject('/v1/nodes/1?fields=child.secret')).statusCode, 400)
  t.equal((await app.inject('/v1/nodes/1?fields=child.child.child.child')).statusCode, 200)
  t.equal((await app.inject('/v1/nodes/1?fields=child.child.child.child.name')).statusCode, 400, 'too deep')
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
