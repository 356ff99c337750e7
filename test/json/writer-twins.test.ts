/** Exact on the bytes, in every place that an integer may have. */
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { ourWriter } from '../schema/compiled.js'

const big = 9_007_199_254_740_993n
const id = { type: 'integer', format: 'int64' }
const twin = '"id":9007199254740993,"id_str":"9007199254740993"'

const rows: readonly (readonly [about: string, properties: Json, value: unknown, json: string])[] = [
  ['a BigInt', { id }, { id: big }, `{${twin}}`],
  ['the decimal string of a driver', { id }, { id: '9007199254740993' }, `{${twin}}`],
  ['a small value, declared', { id }, { id: 5 }, '{"id":5,"id_str":"5"}'],
  ['zero, however it comes', { id }, { id: -0 }, '{"id":0,"id_str":"0"}'],
  ['a negative one', { id }, { id: -big }, '{"id":-9007199254740993,"id_str":"-9007199254740993"}'],
  [
    'the ends of int64',
    { a: id, b: id },
    { a: -(2n ** 63n), b: 2n ** 63n - 1n },
    '{"a":-9223372036854775808,"a_str":"-9223372036854775808","b":9223372036854775807,"b_str":"9223372036854775807"}',
  ],
  [
    'the end of uint64',
    { id: { type: 'integer', format: 'uint64' } },
    { id: 2n ** 64n - 1n },
    '{"id":18446744073709551615,"id_str":"18446744073709551615"}',
  ],
  ['an absent one', { id, name: {} }, { name: 1 }, '{"name":1}'],
  [
    'right after its number',
    { a: { type: 'string' }, id, z: { type: 'string' } },
    { z: 'z', id: 1, a: 'a' },
    '{"a":"a","id":1,"id_str":"1","z":"z"}',
  ],
  ['nullable', { id: { ...id, nullable: true } }, { id: null }, '{"id":null,"id_str":null}'],
  [
    'nullable by a list of types',
    { id: { type: ['integer', 'null'], format: 'int64' } },
    { id: big },
    `{${twin}}`,
  ],
  [
    'null by a list of types',
    { id: { type: ['integer', 'null'], format: 'int64' } },
    { id: null },
    '{"id":null,"id_str":null}',
  ],
  ['anyOf', { id: { anyOf: [{ type: 'null' }, id] } }, { id: big }, `{${twin}}`],
  ['oneOf', { id: { oneOf: [{ type: 'boolean' }, id] } }, { id: 7 }, '{"id":7,"id_str":"7"}'],
  ['allOf', { id: { allOf: [id, { description: 'an id' }] } }, { id: big }, `{${twin}}`],
  [
    'an array',
    { friend_ids: { type: 'array', items: id } },
    { friend_ids: [1, big, '2'] },
    '{"friend_ids":[1,9007199254740993,2],"friend_ids_str":["1","9007199254740993","2"]}',
  ],
  [
    'an empty array',
    { friend_ids: { type: 'array', items: id } },
    { friend_ids: [] },
    '{"friend_ids":[],"friend_ids_str":[]}',
  ],
  [
    'an array with nothing in it',
    { ids: { type: 'array', items: { ...id, nullable: true } } },
    { ids: [null, 1] },
    '{"ids":[null,1],"ids_str":[null,"1"]}',
  ],
  [
    'arrays in an array',
    { a: { type: 'array', items: { type: 'array', items: id } } },
    { a: [[big], []] },
    '{"a":[[9007199254740993],[]],"a_str":[["9007199254740993"],[]]}',
  ],
  [
    'beside a tuple',
    { id, a: { type: 'array', items: [{ type: 'boolean' }, { $ref: '#/definitions/text' }] } },
    { id: big, a: [true, 'a'] },
    `{${twin},"a":[true,"a"]}`,
  ],
  [
    'objects in an array',
    { a: { type: 'array', items: { type: 'object', properties: { id } } } },
    { a: [{ id: big }, {}] },
    `{"a":[{${twin}},{}]}`,
  ],
  [
    'nested',
    { a: { type: 'object', properties: { b: { type: 'object', properties: { id } } } } },
    { a: { b: { id: big } } },
    `{"a":{"b":{${twin}}}}`,
  ],
  [
    'a map',
    { a: { type: 'object', additionalProperties: id } },
    { a: { x: big, 'y"': 2 } },
    '{"a":{"x":9007199254740993,"x_str":"9007199254740993","y\\"":2,"y\\"_str":"2"}}',
  ],
  [
    'a pattern',
    { a: { type: 'object', patternProperties: { '^n': id } } },
    { a: { n1: big, m1: 1 } },
    '{"a":{"n1":9007199254740993,"n1_str":"9007199254740993"}}',
  ],
  ['local reference', { id: { $ref: '#/definitions/id' } }, { id: big }, `{${twin}}`],
  ['shared reference', { id: { $ref: 'id#' } }, { id: big }, `{${twin}}`],
  ['undeclared BigInt', { id: { type: 'integer' } }, { id: big }, `{${twin}}`],
  ['undeclared, safe', { id: { type: 'integer' } }, { id: 5n }, '{"id":5}'],
  [
    'undeclared unsafe Number: no twin vouches for digits that may be rounded',
    { id: { type: 'integer' } },
    { id: 2 ** 53 },
    '{"id":9007199254740992}',
  ],
  ['in a number', { id: { type: 'number' } }, { id: big }, `{${twin}}`],
  ['in a number, a fraction', { id: { type: 'number' } }, { id: 1.5 }, '{"id":1.5}'],
  ['in what is not described', { id: {} }, { id: big }, `{${twin}}`],
  ['in what is not described, deep', { a: {} }, { a: [{ b: { id: big } }] }, `{"a":[{"b":{${twin}}}]}`],
  [
    'undeclared array',
    { ids: { type: 'array', items: { type: 'integer' } } },
    { ids: [1, big] },
    '{"ids":[1,9007199254740993],"ids_str":["1","9007199254740993"]}',
  ],
  [
    'undeclared array, safe',
    { ids: { type: 'array', items: { type: 'integer' } } },
    { ids: [1, 2n] },
    '{"ids":[1,2]}',
  ],
  [
    'a twin that the schema declares',
    { id, id_str: { type: 'string' } },
    { id: big, id_str: 'ours' },
    `{${twin}}`,
  ],
  [
    'a member that is called as a twin would be',
    { n: { type: 'integer' }, n_str: { type: 'string' } },
    { n: big, n_str: 'mine' },
    '{"n":9007199254740993,"n_str":"mine"}',
  ],
  ['a name that needs escapes', { 'i"d': id }, { 'i"d': 1 }, '{"i\\"d":1,"i\\"d_str":"1"}'],
]

const shared: SchemaStore = { id: { $id: 'id', ...id } }

for (const [about, properties, value, json] of rows) {
  t.test(about, async (t) => {
    const schema = { type: 'object', properties, definitions: { id, text: { type: 'string' } } }
    t.equal(ourWriter(schema, { twins: true, shared })(value), json)
  })
}

t.test('an integer at the top level of a response has no twin, and is written', async (t) => {
  t.equal(ourWriter(id, { twins: true })(big), '9007199254740993')
  t.equal(ourWriter({ type: 'array', items: id }, { twins: true })([big]), '[9007199254740993]')
  t.equal(ourWriter({}, { twins: true })({ id: big }), `{${twin}}`)
})

t.test('if, then and else', async (t) => {
  const kind = (name: string): Json => ({ type: 'object', properties: { kind: { const: name } } })
  const branches = Object.fromEntries([
    ['if', kind('wide')],
    ['then', { properties: { id } }],
    ['else', { properties: { id: { type: 'string' } } }],
  ])
  const write = ourWriter(
    { type: 'object', properties: { kind: { type: 'string' } }, ...branches },
    { twins: true },
  )
  t.equal(write({ kind: 'wide', id: big }), `{"kind":"wide",${twin}}`)
  t.equal(write({ kind: 'other', id: '7' }), '{"kind":"other","id":"7"}')
})

t.test('a declared integer that is a Number from 2^53 on is an error at every depth', async (t) => {
  const places: readonly (readonly [properties: Json, value: unknown])[] = [
    [{ id }, { id: 2 ** 53 }],
    [{ ids: { type: 'array', items: id } }, { ids: [1, -(2 ** 60)] }],
    [{ a: { type: 'object', additionalProperties: id } }, { a: { x: 2 ** 63 } }],
    [{ id: { anyOf: [{ type: 'null' }, id] } }, { id: 1e300 }],
    [{ id: { ...id, nullable: true } }, { id: 2 ** 53 }],
  ]
  for (const [properties, value] of places) {
    const write = ourWriter({ type: 'object', properties }, { twins: true })
    t.throws(() => write(value), { message: /digits are lost/ }, JSON.stringify(properties))
  }
})

t.test('without twins the digits are exact too', async (t) => {
  const schema = { type: 'object', properties: { id, ids: { type: 'array', items: id }, any: {} } }
  const value = { id: big, ids: ['9007199254740993'], any: { n: big } }
  const json = '{"id":9007199254740993,"ids":[9007199254740993],"any":{"n":9007199254740993}}'
  t.equal(ourWriter(schema, { twins: false })(value), json)
})
