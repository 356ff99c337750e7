/** The selection of members that the response schema does not name: maps, open objects, alternatives. */
import Fastify from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields, integerTwins } from '../../../src/index.js'

const text = { type: 'string' }
const big = 9_007_199_254_740_993n
const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const open = { additionalProperties: true }
const ofBig = '"n":9007199254740993,"n_str":"9007199254740993"'

t.test('a number and its twin are written once, whichever is selected', async (t) => {
  const payloads: readonly (readonly [about: string, schema: object, value: object])[] = [
    ['only the number is there', object({ a: text }, open), { n: big, z: 1 }],
    ['both are there', object({ a: text }, open), { n: big, n_str: `${big}`, z: 1 }],
    ['the number is declared', object({ n: { type: 'integer' } }, open), { n: big, n_str: `${big}`, z: 1 }],
    [
      'the number is declared int64',
      object({ n: { type: 'integer', format: 'int64' } }, open),
      { n: big, n_str: 'x' },
    ],
    ['by a pattern', object({ a: text }, { patternProperties: { '^n': {} } }), { n: big, n_str: `${big}` }],
    ['of a part that is not described', object({ any: {} }), { any: { n: big, n_str: `${big}`, z: 1 } }],
    ['of such a part, only the number', object({ any: {} }), { any: { n: big, z: 1 } }],
  ]
  for (const [about, schema, value] of payloads) {
    const prefix = 'any' in value ? 'any.' : ''
    const body = prefix === '' ? `{${ofBig}}` : `{"any":{${ofBig}}}`
    for (const names of [['n', 'n_str'], ['n_str', 'n'], ['n'], ['n_str']]) {
      // Only the value tells that an integer without a format has a twin, and it is not asked for.
      if (about !== 'the number is declared int64' && !names.includes('n')) continue
      const query = `?fields=${names.map((name) => prefix + name).join()}`
      t.equal(await answer(query, schema, value), body, `${about}: ${query}`)
    }
  }
})

t.test('a member with the name of an unnecessary twin is an ordinary field', async (t) => {
  const schema = object({ any: {} }, open)
  const value = { n: 5, n_str: 'five', any: { n: 5, n_str: 'five' } }
  t.equal(await answer('?fields=n', schema, value), '{"n":5}')
  t.equal(await answer('?fields=n_str', schema, value), '{"n_str":"five"}')
  t.equal(await answer('?fields=any.n', schema, value), '{"any":{"n":5}}')
  t.equal(await answer('?fields=any.n_str', schema, value), '{"any":{"n_str":"five"}}')
})

t.test('the order is that of the schema, then that of the payload', async (t) => {
  const schema = object({ a: text, any: {} }, { patternProperties: { '^p': text }, ...open })
  const value = { z: 1, p: 'p', m: { y: 1, b: 2 }, any: { y: 1, b: 2 }, b: 3, a: 'a' }
  const whole = '{"a":"a","any":{"y":1,"b":2},"z":1,"p":"p","m":{"y":1,"b":2},"b":3}'
  t.equal(await answer('', schema, value), whole)
  for (const names of ['z,p,m,any,b,a', 'a,b,any,m,p,z', 'm,z,a,p,b,any']) {
    t.equal(await answer(`?fields=${names}`, schema, value), whole, names)
  }
  for (const names of ['m.b,any.b,m.y,any.y', 'any.y,m.y,any.b,m.b', 'any.b,any.y,m.b,m.y']) {
    t.equal(await answer(`?fields=${names}`, schema, value), '{"any":{"y":1,"b":2},"m":{"y":1,"b":2}}', names)
  }
})

t.test('hiding a field removes only that field', async (t) => {
  const either = {
    anyOf: [
      object({ kind: { const: 'a' }, secret: text, a: text }),
      object({ kind: { const: 'b' }, secret: text, b: text }),
    ],
  }
  const rows: readonly (readonly [
    about: string,
    path: string,
    schema: object,
    value: object,
    body: string,
  ])[] = [
    [
      'open',
      'secret',
      object({ a: text, secret: text }, open),
      { a: 'a', secret: 's', x: 1 },
      '{"a":"a","x":1}',
    ],
    [
      'open, not declared',
      'secret',
      object({ a: text }, open),
      { secret: 's', x: 1, a: 'a' },
      '{"a":"a","x":1}',
    ],
    [
      'a map',
      'm.secret',
      object({ m: { type: 'object', additionalProperties: text } }),
      { m: { x: 'x', secret: 's' } },
      '{"m":{"x":"x"}}',
    ],
    [
      'of a map’s value',
      'm.x.secret',
      object({ m: { type: 'object', additionalProperties: object({ a: text, secret: text }) } }),
      { m: { x: { a: 'a', secret: 's' }, y: { a: 'a', secret: 's' } } },
      '{"m":{"x":{"a":"a"},"y":{"a":"a","secret":"s"}}}',
    ],
    [
      'nested and open',
      'o.secret',
      object({ o: object({ a: text, secret: text }, open) }, open),
      { o: { a: 'a', secret: 's', x: 1 }, y: 2 },
      '{"o":{"a":"a","x":1},"y":2}',
    ],
    [
      'not described',
      'any.secret',
      object({ any: {} }),
      { any: [{ a: 1, secret: 's' }, { x: 1 }, 's'] },
      '{"any":[{"a":1},{"x":1},"s"]}',
    ],
    [
      'of the first alternative',
      'o.a',
      object({ o: either }),
      { o: { kind: 'b', secret: 's', b: 'b' } },
      '{"o":{"kind":"b","secret":"s","b":"b"}}',
    ],
    [
      'of the second alternative',
      'o.b',
      object({ o: either }),
      { o: { kind: 'a', secret: 's', a: 'a' } },
      '{"o":{"kind":"a","secret":"s","a":"a"}}',
    ],
    [
      'of both alternatives',
      'o.secret',
      object({ o: either }),
      { o: { kind: 'b', secret: 's', b: 'b' } },
      '{"o":{"kind":"b","b":"b"}}',
    ],
    [
      'at the top of alternatives',
      'secret',
      either,
      { kind: 'b', secret: 's', b: 'b' },
      '{"kind":"b","b":"b"}',
    ],
    [
      'items of items',
      'o.secret',
      object({
        o: { type: 'array', items: { type: 'array', items: object({ a: text, secret: text }, open) } },
      }),
      { o: [[{ secret: 's', x: 1 }], []] },
      '{"o":[[{"x":1}],[]]}',
    ],
    [
      'beside a tuple',
      'secret',
      object({ pair: { type: 'array', items: [object({ secret: text }), text] }, secret: text }),
      { pair: [{ secret: 's' }, 't'], secret: 's' },
      '{"pair":[{"secret":"s"},"t"]}',
    ],
    [
      'of null',
      'o.secret',
      object({ o: { ...object({ secret: text }), nullable: true }, a: text }),
      { o: null, a: 'a' },
      '{"o":null,"a":"a"}',
    ],
    [
      'with its twin',
      'n',
      object({ a: text }, open),
      { n: big, n_str: `${big}`, a: 'a', m: big },
      '{"a":"a","m":9007199254740993,"m_str":"9007199254740993"}',
    ],
    [
      'of what the default says',
      'o.secret',
      object({ o: { ...object({ a: text, secret: text }), default: { a: 'a', secret: 's' } } }),
      {},
      '{"o":{"a":"a"}}',
    ],
  ]
  for (const [about, path, schema, value, body] of rows) {
    for (const hides of [true, () => true] as const) {
      const hidden = { [path]: hides }
      t.equal(await answer('', schema, value, { hidden }), body, about)
      t.equal(await answer('?fields=*', schema, value, { hidden }), body, `${about}, of *`)
      t.match(
        await answer(`?fields=${path}`, schema, value, { hidden }),
        'fields-invalid',
        `${about}, asked for`,
      )
    }
    const seen = await answer('', schema, value, { hidden: { [path]: () => false } })
    t.equal(seen, await answer('', schema, value), `${about}, not hidden from this request`)
  }
})

t.test('a hidden field is hidden if it is selected together with others', async (t) => {
  const schema = object({ a: text, secret: text }, open)
  const value = { a: 'a', secret: 's', x: 1, y: 2 }
  const config = { hidden: { secret: true as const } }
  t.equal(await answer('?fields=y,x', schema, value, config), '{"x":1,"y":2}')
  t.match(await answer('?fields=x,secret', schema, value, config), 'fields-invalid')
  t.equal(await answer('', schema, value, { ...config, default: ['y', 'secret', 'a'] }), '{"a":"a","y":2}')
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

async function answer(
  query: string,
  schema: object,
  value: object,
  config?: FieldsRouteOptions,
): Promise<string> {
  const app = Fastify()
  await app.register(fields)
  await app.register(integerTwins)
  const options = config === undefined ? {} : { config: { fields: config } }
  app.get(
    '/v1/things/:id',
    { schema: { response: { 200: structuredClone(schema) } }, ...options },
    () => value,
  )
  return (await app.inject(`/v1/things/1${query}`)).payload
}
