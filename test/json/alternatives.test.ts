/** Which alternative of a schema a payload is written by, and by all that hold at once. */
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'

const text = { type: 'string' }
const integer = { type: 'integer' }
const object = (properties: Json, more: object = {}) => ({ type: 'object', properties, ...more })
const when = (condition: Json, positive: Json, negative?: Json): { [keyword: string]: Json } =>
  Object.fromEntries([
    ['if', condition],
    ['then', positive],
    ...(negative === undefined ? [] : [['else', negative]]),
  ])
const isA = { properties: { kind: { const: 'a' } } }

const shared: SchemaStore = {
  parts: {
    $id: 'parts',
    definitions: {
      a: object({ id: integer, inner: { $ref: '#/definitions/inner' } }),
      b: object({ y: text }),
      inner: object({ z: text }),
    },
  },
  whole: {
    $id: 'whole',
    ...object({ kind: text }),
    definitions: { a: object({ id: integer }), b: object({ y: text }) },
    ...when(isA, { $ref: '#/definitions/a' }, { $ref: '#/definitions/b' }),
  },
}

class ObjectId {
  readonly #hex = '65f1a2'
  toJSON(): string {
    return this.#hex
  }
  toString(): string {
    return this.#hex
  }
}

const byParts = {
  ...object({ kind: text }),
  ...when(isA, { $ref: 'parts#/definitions/a' }, { $ref: 'parts#/definitions/b' }),
}
const needs = (name: string): Json => object({ [name]: text }, { required: [name] })
const twice = { allOf: [{ anyOf: [needs('a'), needs('b')] }, { anyOf: [needs('c'), needs('d')] }] }
const beside = { ...object({ k: text }), anyOf: [object({ a: text })], oneOf: [object({ b: text })] }
const conditions = [
  when({ properties: { k: { const: 'a' } } }, object({ a: integer })),
  when({ properties: { l: { const: 'b' } } }, object({ b: text }), object({ c: text })),
]
const ofId = { anyOf: [needs('id'), { type: 'null' }] }
const undeclared = { anyOf: [object({ a: text }, { required: ['b'] }), object({ c: text })] }
const ofWhole = { allOf: [{ $ref: 'whole#' }, object({ more: text })] }
const both = '{"k":"a","l":"b","a":5,"b":"b"}'
const rows: readonly (readonly [about: string, schema: Json, value: object, json: string])[] = [
  ['two anyOf under one allOf: one of each', twice, { b: 'b', c: 'c', d: 'd' }, '{"b":"b","c":"c"}'],
  ['the second of both', twice, { b: 'b', d: 'd' }, '{"b":"b","d":"d"}'],
  ['anyOf beside oneOf', beside, { k: 'k', a: 'a', b: 'b' }, '{"k":"k","a":"a","b":"b"}'],
  [
    'two conditions under one allOf: both hold',
    { ...object({ k: text, l: text }), allOf: conditions },
    { k: 'a', l: 'b', a: 5, b: 'b', c: 'c' },
    both,
  ],
  [
    'references in then and else, to another document',
    byParts,
    { kind: 'a', id: 5, inner: { z: 'z' } },
    '{"kind":"a","id":5,"inner":{"z":"z"}}',
  ],
  ['the other branch', byParts, { kind: 'b', y: 'y', id: 5 }, '{"kind":"b","y":"y"}'],
  ['in another document', ofWhole, { kind: 'a', id: 5, more: 'm' }, '{"kind":"a","more":"m","id":5}'],
  ['a required member that is not declared tells them apart', undeclared, { a: 'a', c: 'c' }, '{"c":"c"}'],
  ['a member that writes itself as text is a text', ofId, { id: new ObjectId() }, '{"id":"65f1a2"}'],
]

t.test('the alternatives that hold are written, as Fastify writes them', async (t) => {
  for (const [about, schema, value, json] of rows) {
    t.equal(ourWriter(schema, { twins: true, shared })(value), json, about)
    t.equal(fastifyWriter(schema, shared)(value), json, `${about}: as Fastify writes it`)
  }
})

t.test('alternatives may differ only by their format', async (t) => {
  const kind = (name: string, property: Json): Json =>
    object({ at: property, [name]: text }, { required: ['at'] })
  const byFormat = {
    anyOf: [
      kind('uuid', { ...text, format: 'uuid' }),
      kind('time', { ...text, format: 'date-time' }),
      kind('int64', { ...integer, format: 'int64' }),
      kind('uint64', { ...integer, format: 'uint64' }),
    ],
  }
  const rows: readonly (readonly [at: unknown, name: string])[] = [
    ['0b1f1d3e-6a2b-4c55-9d0a-2f8f7d9e1c00', 'uuid'],
    ['2026-11-20T08:00:00Z', 'time'],
    [new Date(0), 'uuid'],
    [5, 'int64'],
    [2n ** 63n - 1n, 'int64'],
    [2n ** 63n, 'uint64'],
  ]
  const write = ourWriter(byFormat, { twins: true })
  for (const [at, name] of rows) {
    const written = write({ at, uuid: '', time: '', int64: '', uint64: '' })
    t.match(written, `"${name}":""`, `${String(at)} is a ${name}`)
  }
  for (const at of ['neither of them', 2n ** 64n]) t.throws(() => write({ at }), 'of none of the formats')
  t.throws(() => fastifyWriter(byFormat)({ at: 'neither of them' }), 'as Fastify refuses it')
})

t.test('contradictory alternatives are left out; too many are an error', async (t) => {
  const contradicting = {
    allOf: [{ anyOf: [object({ a: text }), text] }, { anyOf: [text, object({ b: text })] }],
  }
  const write = ourWriter(contradicting, { twins: true })
  t.equal(write('x'), '"x"')
  t.equal(write({ a: 'a', b: 'b' }), '{"a":"a","b":"b"}')
  const many = {
    allOf: Array.from({ length: 9 }, () => ({ anyOf: [object({ a: text }), object({ b: text })] })),
  }
  t.throws(() => shapeOf(many), /more than 256 combinations/)
})
