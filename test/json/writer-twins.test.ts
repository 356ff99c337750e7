/** Twins on the bytes, where random schemas (same-as-fastify.test.ts) do not have them. */
import t from 'tap'
import type { Json } from '../../src/schema/json-schema.js'
import { ourWriter } from '../schema/compiled.js'

const big = 9_007_199_254_740_993n
const id = { type: 'integer', format: 'int64' }
const twin = '"id":9007199254740993,"id_str":"9007199254740993"'

const text = { type: 'string' }
const integer = { type: 'integer' }
const uint64 = { ...integer, format: 'uint64' }
const orNull = { type: ['integer', 'null'], format: 'int64' }
const idOrBoolean = { type: ['boolean', 'integer'], format: 'int64' }
const idOrText = { anyOf: [id, text] }
const object = (properties: Json) => ({ type: 'object', properties })
const array = (items: Json): Json => ({ type: 'array', items })
const ofOthers = { a: { ...text, format: 'int64' }, b: { type: 'number', format: 'int64' } }
const ofNull = '{"id":null,"id_str":null}'
const five = '{"id":5,"id_str":"5"}'
const ends = ['-9223372036854775808', '9223372036854775807', '18446744073709551615']
const map = '{"a":{"x":9007199254740993,"x_str":"9007199254740993","y\\"":2,"y\\"_str":"2"}}'
const pattern = { type: 'object', patternProperties: { '^n': id } }
const matched = '{"a":{"n1":9007199254740993,"n1_str":"9007199254740993"}}'
const tuple = array([{ type: 'boolean' }, { $ref: '#/definitions/text' }])
const open = { additionalProperties: true }
const closed = { additionalProperties: false }
const ofI = { patternProperties: { '^i': integer } }
const byPattern = { patternProperties: { _str$: text } }
const nullOrIds = { oneOf: [{ type: 'null' }, array(id)] }
const ofText = '{"id":"abc","id_str":"mine"}'
const branches = Object.fromEntries<Json>([
  ['if', object({ kind: { const: 'wide' } })],
  ['then', { properties: { id } }],
  ['else', { properties: { id: text } }],
])

type Row = readonly [about: string, properties: Json, value: unknown, json: string, more?: object]
const rows: readonly Row[] = [
  ['text that an alternative allows', { id: idOrText }, { id: '00123' }, '{"id":"00123"}'],
  ['zero, however it comes', { id }, { id: -0 }, '{"id":0,"id_str":"0"}'],
  ['the least int64', { id }, { id: -(2n ** 63n) }, `{"id":${ends[0]},"id_str":"${ends[0]}"}`],
  ['the greatest int64', { id }, { id: 2n ** 63n - 1n }, `{"id":${ends[1]},"id_str":"${ends[1]}"}`],
  ['uint64', { id: uint64 }, { id: 2n ** 64n - 1n }, `{"id":${ends[2]},"id_str":"${ends[2]}"}`],
  ['nullable', { id: { ...id, nullable: true } }, { id: null }, ofNull],
  ['null by a list of types', { id: orNull }, { id: null }, ofNull],
  ['undeclared, or null', { id: { type: ['integer', 'null'] } }, { id: big }, `{${twin}}`],
  ['text in a list of types', { id: idOrBoolean }, { id: '9007199254740993' }, `{${twin}}`],
  ['oneOf', { id: { oneOf: [{ type: 'boolean' }, id] } }, { id: 5 }, five],
  ['allOf', { id: { allOf: [id, { description: 'an id' }] } }, { id: big }, `{${twin}}`],
  ['null in an array', { ids: array(orNull) }, { ids: [null] }, '{"ids":[null],"ids_str":[null]}'],
  ['beside a tuple', { id, a: tuple }, { id: big, a: [true, 'a'] }, `{${twin},"a":[true,"a"]}`],
  ['a map', { a: { type: 'object', additionalProperties: id } }, { a: { x: big, 'y"': 2 } }, map],
  ['a pattern', { a: pattern }, { a: { n1: big, m1: 1 } }, matched],
  ['then', { kind: text }, { kind: 'wide', id: big }, `{"kind":"wide",${twin}}`, branches],
  ['else', { kind: text }, { kind: 'other', id: '7' }, '{"kind":"other","id":"7"}', branches],
  // No twin vouches for digits that may be rounded.
  ['undeclared unsafe Number', { id: integer }, { id: 2 ** 53 }, '{"id":9007199254740992}'],
  ['the format of others', ofOthers, { a: '5', b: 5 }, '{"a":"5","b":5}'],
  // Where the payload, or the schema, has the name of a twin.
  ['a twin that the schema declares', { id, id_str: text }, { id: big, id_str: 'ours' }, `{${twin}}`],
  ['named like a twin', { id: integer, id_str: text }, { id: 5, id_str: 'mine' }, '{"id":5,"id_str":"mine"}'],
  ['of a large one', { n: integer, n_str: text }, { n: big, n_str: 'mine' }, `{"n":${big},"n_str":"mine"}`],
  ['a twin of its own: one key', { id }, { id: 5n, id_str: '5', x: 1 }, '{"id":5,"id_str":"5","x":1}', open],
  ['by a pattern', { id }, { id: 5n, id_str: '5' }, five, byPattern],
  ['a default has its twin', { id: { ...id, default: 5 } }, {}, five],
  // An array that is not nullable.
  ['null for an array: both are []', { ids: array(id) }, { ids: null }, '{"ids":[],"ids_str":[]}'],
  ['an array that is null', { ids: nullOrIds }, { ids: null }, '{"ids":null,"ids_str":null}'],
  // A declared twin of what may be text gives way to that of an integer, and of a default.
  ['an integer', { id_str: text, id: idOrText }, { id: big, id_str: 'x' }, `{${twin}}`, { required: ['id'] }],
  ['of a default', { id: { ...idOrText, default: 5 }, id_str: text }, { id_str: 'mine' }, five],
  // One that is not declared stays beside a text and a small integer, and gives way to the digits of a large one.
  ['a text', { id: idOrText }, { id: 'abc', id_str: 'mine' }, ofText, open],
  ['a large one', { id: integer }, { id: big, id_str: 'mine' }, `{${twin}}`, open],
  ['a small one', { id: integer }, { id: 5, id_str: 'mine' }, '{"id":5,"id_str":"mine"}', open],
  // Where undeclared members are forbidden, no twin is added to an undeclared BigInt.
  ['a closed object', { id: integer }, { id: big }, `{"id":${big}}`, closed],
  ['a closed one with patterns', {}, { id: big }, `{"id":${big}}`, { ...closed, ...ofI }],
  ['nested', { a: { ...object({ id: integer }), ...closed } }, { a: { id: big } }, `{"a":{"id":${big}}}`],
  ['a closed one that declares it', { id }, { id: big }, `{${twin}}`, closed],
]

t.test('a twin follows its number, in every place', async (t) => {
  for (const [about, properties, value, json, more] of rows) {
    const schema = { type: 'object', properties, definitions: { text }, ...more }
    t.equal(ourWriter(schema, { twins: true })(value), json, about)
  }
  // At the top level of a response there is no twin.
  t.equal(ourWriter(id, { twins: true })(big), '9007199254740993')
  t.equal(ourWriter(array(id), { twins: true })([big]), '[9007199254740993]')
})

t.test('a declared integer that is a Number from 2^53 on is an error at every depth', async (t) => {
  const places: readonly (readonly [properties: Json, value: unknown])[] = [
    [{ id }, { id: 2 ** 53 }],
    [{ ids: array(id) }, { ids: [1, -(2 ** 60)] }],
    [{ a: { type: 'object', additionalProperties: id } }, { a: { x: 2 ** 63 } }],
    [{ id: orNull }, { id: 1e300 }],
  ]
  for (const [properties, value] of places) {
    const write = ourWriter(object(properties), { twins: true })
    t.throws(() => write(value), { message: /digits are lost/ }, JSON.stringify(properties))
  }
  const beyond = [{ id: `${2n ** 63n}` }, { id: `${-(2n ** 63n) - 1n}` }, { unsigned: -1 }]
  for (const value of beyond)
    t.throws(() => ourWriter(object({ id, unsigned: uint64 }), { twins: true })(value), /out of the range/)
})

t.test('without twins the digits are exact too', async (t) => {
  const schema = object({ id, ids: array(id), any: {} })
  const value = { id: big, ids: [`${big}`], any: { n: big } }
  t.equal(ourWriter(schema, { twins: false })(value), `{"id":${big},"ids":[${big}],"any":{"n":${big}}}`)
})
