/** The bytes are those of Fastify's own serializer, where random schemas (same-as-fastify.test.ts) do not have the case. */
import fc from 'fast-check'
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'

const text = { type: 'string' }
const integer = { type: 'integer' }
const object = (properties: Json, more: object = {}) => ({ type: 'object', properties, ...more })
const array = (items: Json): Json => ({ type: 'array', items })
const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] })
const dated = (format: string): Json => ({ ...text, format })
const user = object({ age: integer, name: text }, { required: ['name'] })
const made = { toJSON: () => ({ name: 'made' }) }
const otherwise = { ...text, default: 'x' }
const anything = { type: 'object', additionalProperties: true }
const patterns = {
  patternProperties: { '^a': text, '^ab': integer },
  additionalProperties: { type: 'boolean' },
}
const byReference = object({ a: { $ref: '#/definitions/a' } }, { definitions: { a: otherwise } })

const moment = new Date('2020-01-02T03:04:05.678Z')
const definitions = { in: object({ x: integer }) }
const base = { base: { $id: 'base', ...object({ a: { $ref: '#/definitions/in' } }), definitions } }
const baseValue = { a: { x: 1 }, b: 'b' }
const draft2020 = 'https://json-schema.org/draft/2020-12/schema'
const local = object({ x: orNull({ $ref: '#/definitions/o' }) })
const below = { $ref: 'base#', properties: { b: { $ref: '#/definitions/s' } } }
const ofUser = { ...local, definitions: { o: object({ u: { $ref: 'user#' } }, { required: ['u'] }) } }
const userById = { $id: 'user', ...object({ n: text }) }
const mine = { $schema: draft2020, ...local, definitions: { o: object({ a: text }) } }
const others = { $id: 'u', $schema: draft2020, type: 'object' }
const nullable = { $id: 'm', type: 'string', nullable: true }

const same: readonly (readonly [about: string, schema: Json, value: unknown, shared?: SchemaStore])[] = [
  ['defaults', object({ a: otherwise, b: { type: 'object', default: {} } }), {}],
  ['a default that is not needed', object({ a: otherwise }), { a: 'y' }],
  ['a default of null', object({ a: { ...text, default: null } }), {}],
  ['a default behind a reference', byReference, {}],
  ['members of a kind', { type: 'object', additionalProperties: integer }, { a: 1.5, b: '2' }],
  ['patterns before the rest', { type: 'object', ...patterns }, { a: 1, ab: 2, b: 3 }],
  ['functions and symbols', anything, { f: () => 1, s: Symbol('s'), a: 1 }],
  ['an unsafe text, which is not escaped', object({ a: { ...text, format: 'unsafe' } }), { a: 'a"b' }],
  ['booleans of other types', array({ type: 'boolean' }), [true, 0, 'x', '']],
  ['numbers of texts', object({ a: { type: ['number', 'string'] }, b: integer }), { a: '1', b: '2' }],
  ['a tuple with more', { type: 'array', items: [text], additionalItems: true }, ['a', { b: 1 }, null]],
  // A Date among alternatives loses its format: choiceWriter has made a string of it (withoutToJson).
  ['date in anyOf', object({ d: orNull(dated('date')) }), { d: moment }],
  ['time in anyOf', object({ d: orNull(dated('time')) }), { d: moment }],
  ['date in a list of types', object({ d: { type: ['string', 'integer'], format: 'date' } }), { d: moment }],
  // allOf, anyOf with siblings, then, $ref with siblings: parts lose the document that their references are relative to.
  ['local references in allOf', { allOf: [{ $ref: 'base#' }, object({ b: text })] }, baseValue, base],
  ['anyOf beside properties', { ...object({ b: text }), anyOf: [{ $ref: 'base#' }] }, baseValue, base],
  ['$ref with siblings', { ...object({ o: below }), definitions: { s: text } }, { o: baseValue }, base],
  // The document is given to Ajv under an absolute $id, against which the names of shared schemas resolve to nothing.
  ['a local alternative of a shared schema', ofUser, { x: { u: { n: 'a' } } }, { user: userById }],
  // Ajv knows draft-07 only; fast-json-stringify does not look at $schema (zod's toJSONSchema writes 2020-12).
  ['$schema 2020-12 on a document with alternatives', mine, { x: { a: 'q' } }],
  ['$schema 2020-12 on another shared schema', object({ x: orNull(text) }), { x: 'q' }, { u: others }],
  // relaxed() repeats the $id inside of anyOf.
  ['another shared schema that is nullable', object({ x: orNull(text) }), { x: 'q' }, { m: nullable }],
  ['time of a year of five digits', dated('time'), new Date('+010000-01-01T00:00:00Z')],
]

t.test('the bytes of fast-json-stringify, also with twins where none is needed', async (t) => {
  for (const [about, schema, value, shared = {}] of same) {
    const expected = fastifyWriter(schema, shared)(value)
    for (const twins of [false, true]) t.equal(ourWriter(schema, { twins, shared })(value), expected, about)
  }
})

t.test('a value that fast-json-stringify refuses is refused, without the value in the message', async (t) => {
  const noMatch = 'The value does not match any of its schemas'
  const of = (type: string, schema: string) =>
    `a value of type ${type} cannot be written by the schema ${schema}`
  const refused: readonly (readonly [schema: Json, value: unknown, message: string])[] = [
    [object({ user }), { user: {} }, '"name" is required!'],
    [array(text), { length: 1 }, 'The value does not match an array'],
    [array([text]), ['a', 'secret'], of('object', '{"type":"array","items":[{"type":"string"}]}')],
    [{ type: ['integer', 'boolean'] }, 'secret', noMatch],
    // Alternatives ignore toJSON of objects.
    [orNull(user), made, noMatch],
    [integer, 'secret', of('string', '{"type":"integer"}')],
    [dated('date'), 5, of('number', '{"type":"string","format":"date"}')],
  ]
  for (const [schema, value, message] of refused) {
    t.throws(() => ourWriter(schema, { twins: true })(value), { message }, JSON.stringify(schema))
    t.throws(() => fastifyWriter(schema)(value), 'fast-json-stringify refuses it too')
  }
})

t.test('long arrays and deep values are written completely', async (t) => {
  const items = Array.from({ length: 20_001 }, (_, index) => ({ name: `${index}` }))
  t.equal(ourWriter(array(user), { twins: true })(items), fastifyWriter(array(user))(items))
  const node = object({ next: { $ref: '#' } })
  const deep = Array.from({ length: 1000 }).reduce<object>((next) => ({ next }), {})
  t.equal(ourWriter(node, { twins: true })(deep), fastifyWriter(node)(deep))
})

t.test('with any members missing, the result is JSON in the order of the schema', async () => {
  const fallback = fc.constantFrom(null, 'default')
  const member = fc.record({ required: fc.boolean(), fallback, isThere: fc.boolean() })
  const property = fc.property(fc.array(member, { maxLength: 5 }), fc.boolean(), (drafts, hasRest) => {
    const members = drafts.map((draft, index) => ({ name: `m${index}`, ...draft }))
    const first = members.filter(({ required }) => required)
    const properties = Object.fromEntries(
      members.map((one) => [one.name, one.fallback === null ? text : { ...text, default: one.fallback }]),
    )
    const required = first.map(({ name }) => name)
    const write = ourWriter(object(properties, { required, additionalProperties: true }), { twins: true })
    const there = members.filter(({ isThere }) => isThere).map(({ name }) => [name, name])
    const value = Object.fromEntries([...(hasRest ? [['rest', 1]] : []), ...there])
    if (first.some((one) => !one.isThere && one.fallback === null))
      return /^"m\d" is required!$/.test(messageOf(() => write(value)) ?? '')
    const ordered = [...first, ...members.filter(({ required }) => !required)]
    const shown = ordered.filter(({ isThere, fallback }) => isThere || fallback !== null)
    const entries = shown.map((one) => `"${one.name}":"${one.isThere ? one.name : one.fallback}"`)
    return write(value) === `{${[...entries, ...(hasRest ? ['"rest":1'] : [])].join(',')}}`
  })
  fc.assert(property, { numRuns: 1000 })
})

t.test('names are written as JSON, whatever they are', async (t) => {
  const names = ['"', "'", '`', '\\', '\n', '\u2028', '${', '*/', '];throw 1;//', '\ud800', '', '0', '😀']
  const value = Object.fromEntries(names.map((name) => [name, name]))
  t.strictSame(JSON.parse(writerOfTexts(names)(value)), value)
  const schema = object({ 'it"s': text }, { required: ['it"s'] })
  t.throws(() => ourWriter(schema, { twins: true })({}), { message: '"it\\"s" is required!' })
})

t.test('properties of Object.prototype are not written; getters of a class are, and read once', async (t) => {
  const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']
  const write = writerOfTexts(inherited)
  for (const empty of [{}, Object.create(null)]) t.equal(write(empty), '{}')
  const own = JSON.parse(`{${inherited.map((name) => `"${name}":"own"`).join(',')}}`)
  t.equal(write(own), JSON.stringify(own))
  t.equal(writerOfTexts(['name', 'constructor'])({ name: 'a' }), '{"name":"a"}')
  class User {
    static reads = 0
    get name(): string {
      User.reads++
      return 'from a getter'
    }
  }
  t.equal(writerOfTexts(['name'])(new User()), '{"name":"from a getter"}')
  t.equal(User.reads, 1)
})

const when = (condition: Json, positive: Json, negative: Json = true): { [keyword: string]: Json } =>
  Object.fromEntries([
    ['if', condition],
    ['then', positive],
    ['else', negative],
  ])
const isA = { properties: { kind: { const: 'a' } } }
const branches = {
  a: object({ id: integer, inner: { $ref: '#/definitions/inner' } }),
  b: object({ y: text }),
  inner: object({ z: text }),
}
const shared = {
  parts: { $id: 'parts', definitions: branches },
  whole: {
    ...{ $id: 'whole', ...object({ kind: text }), definitions: branches },
    ...when(isA, { $ref: '#/definitions/a' }, { $ref: '#/definitions/b' }),
  },
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
const twoConditions = { ...object({ k: text, l: text }), allOf: conditions }
const bothHold = { k: 'a', l: 'b', a: 5, b: 'b', c: 'c' }
const undeclared = { anyOf: [object({ a: text }, { required: ['b'] }), object({ c: text })] }
const ofWhole = { allOf: [{ $ref: 'whole#' }, object({ more: text })] }
const objectId = { toJSON: () => '65f1a2', toString: () => '65f1a2' }

t.test('the alternatives that hold are written, as Fastify writes them', async (t) => {
  const inner = { z: 'z' }
  const ofInner = '{"kind":"a","id":5,"inner":{"z":"z"}}'
  const rows: readonly (readonly [about: string, schema: Json, value: object, json: string])[] = [
    ['two anyOf under one allOf: one of each', twice, { b: 'b', c: 'c', d: 'd' }, '{"b":"b","c":"c"}'],
    ['the second of both', twice, { b: 'b', d: 'd' }, '{"b":"b","d":"d"}'],
    ['anyOf beside oneOf', beside, { k: 'k', a: 'a', b: 'b' }, '{"k":"k","a":"a","b":"b"}'],
    ['two conditions: both hold', twoConditions, bothHold, '{"k":"a","l":"b","a":5,"b":"b"}'],
    ['references in then and else, to another document', byParts, { kind: 'a', id: 5, inner }, ofInner],
    ['the other branch', byParts, { kind: 'b', y: 'y', id: 5 }, '{"kind":"b","y":"y"}'],
    ['in another document', ofWhole, { kind: 'a', id: 5, more: 'm' }, '{"kind":"a","more":"m","id":5}'],
    ['a required member that is not declared tells them apart', undeclared, { a: 'a', c: 'c' }, '{"c":"c"}'],
    [
      'a member that writes itself as text is a text',
      orNull(needs('id')),
      { id: objectId },
      '{"id":"65f1a2"}',
    ],
  ]
  for (const [about, schema, value, json] of rows) {
    t.equal(ourWriter(schema, { twins: true, shared })(value), json, about)
    t.equal(fastifyWriter(schema, shared)(value), json, `${about}: as Fastify writes it`)
  }
})

t.test('alternatives may differ only by their format', async (t) => {
  const kind = (name: string, at: Json): Json => object({ at, [name]: text }, { required: ['at'] })
  const ofText = [kind('uuid', { ...text, format: 'uuid' }), kind('time', { ...text, format: 'date-time' })]
  const ofIntegers = ['int64', 'uint64'].map((format) => kind(format, { ...integer, format }))
  const byFormat = { anyOf: [...ofText, ...ofIntegers] }
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
  const [a, b] = [object({ a: text }), object({ b: text })]
  const write = ourWriter({ allOf: [{ anyOf: [a, text] }, { anyOf: [text, b] }] }, { twins: true })
  t.equal(write('x'), '"x"')
  t.equal(write({ a: 'a', b: 'b' }), '{"a":"a","b":"b"}')
  const many = { allOf: Array.from({ length: 9 }, () => ({ anyOf: [a, b] })) }
  t.throws(() => shapeOf(many), /more than 256 combinations/)
})

function writerOfTexts(names: readonly string[]): (value: unknown) => string {
  const properties = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:{"type":"string"}`)}}`)
  return ourWriter(object(properties), { twins: true })
}

function messageOf(call: () => unknown): string | null {
  try {
    call()
    return null
  } catch (error) {
    return (error as Error).message
  }
}
