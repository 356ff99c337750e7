/** Faults that tests found once in the writer: it writes what fast-json-stringify writes. */
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'

const text = { type: 'string' }
const date = (format: string): Json => ({ type: 'string', format })
const object = (properties: Json, required: string[] = []) => ({ type: 'object', properties, required })
const moment = new Date('2020-01-02T03:04:05.678Z')
const inner = object({ x: { type: 'integer' } })
const definitions = { in: inner }
const base: SchemaStore = {
  base: { $id: 'base', ...object({ a: { $ref: '#/definitions/in' } }), definitions },
}
const baseValue = { a: { x: 1 }, b: 'b' }
const draft2020 = 'https://json-schema.org/draft/2020-12/schema'

const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] })
const local = object({ x: orNull({ $ref: '#/definitions/o' }) })
const below = { $ref: 'base#', properties: { b: { $ref: '#/definitions/s' } } }
const ofUser = { ...local, definitions: { o: object({ u: { $ref: 'user#' } }, ['u']) } }
const user = { $id: 'user', ...object({ n: text }) }
const mine = { $schema: draft2020, ...local, definitions: { o: object({ a: text }) } }
const others = { $id: 'u', $schema: draft2020, type: 'object' }
const nullable = { $id: 'm', type: 'string', nullable: true }

const same: readonly (readonly [id: string, schema: Json, value: unknown, shared?: SchemaStore])[] = [
  // A Date among alternatives loses its format: choiceWriter has made a string of it (withoutToJson).
  ['date in anyOf', object({ d: orNull(date('date')) }), { d: moment }],
  ['time in anyOf', object({ d: orNull(date('time')) }), { d: moment }],
  ['date in a list of types', object({ d: { type: ['string', 'integer'], format: 'date' } }), { d: moment }],
  // allOf, anyOf with siblings, then, $ref with siblings: parts lose the document that their references are relative to.
  ['local references in allOf', { allOf: [{ $ref: 'base#' }, object({ b: text })] }, baseValue, base],
  ['anyOf beside properties', { ...object({ b: text }), anyOf: [{ $ref: 'base#' }] }, baseValue, base],
  ['$ref with siblings', { ...object({ o: below }), definitions: { s: text } }, { o: baseValue }, base],
  // The document is given to Ajv under an absolute $id, against which the names of shared schemas resolve to nothing.
  ['a local alternative that refers to a shared schema', ofUser, { x: { u: { n: 'a' } } }, { user }],
  // Ajv knows draft-07 only; fast-json-stringify does not look at $schema (zod's toJSONSchema writes 2020-12).
  ['$schema 2020-12 on a document with alternatives', mine, { x: { a: 'q' } }],
  ['$schema 2020-12 on another shared schema', object({ x: orNull(text) }), { x: 'q' }, { u: others }],
  // relaxed() repeats the $id inside of anyOf.
  ['another shared schema that is nullable', object({ x: orNull(text) }), { x: 'q' }, { m: nullable }],
  ['time of a year of five digits', date('time'), new Date('+010000-01-01T00:00:00Z')],
]

for (const [id, schema, value, shared = {}] of same) {
  t.test(id, async (t) => {
    t.equal(ourWriter(schema, { twins: false, shared })(value), fastifyWriter(schema, shared)(value))
  })
}
