/** Decisions.md §3: "The twin stands right after its number, and is in the schema, so OpenAPI shows it." */
import fc from 'fast-check'
import t from 'tap'
import type { Json, SchemaStore } from '../../../src/representation/schema/schema-refs.js'
import {
  completeShared,
  withTwins,
  withTwinsInResponse,
} from '../../../src/representation/schema/twin-schema.js'
import { ourWriter } from '../compiled.js'
import { leavesOf, parseExact, valueIn } from '../exact-tree.js'
import { anySample } from '../random-schemas.js'

const id = { type: 'integer', format: 'int64' }
const twin = { type: 'string', pattern: '^-?[0-9]+$', description: 'The digits of id, exact in any client' }
const object = (properties: Json): Json => ({ type: 'object', properties })

t.test('every declared 64-bit integer has a twin right behind it', async (t) => {
  const ids = { type: 'array', items: id }
  const idsTwin = {
    type: 'array',
    items: { type: 'string' },
    description: 'The digits of ids, exact in any client',
  }
  const rows: readonly (readonly [properties: Json, completed: Json])[] = [
    [
      { a: {}, id, z: {} },
      { a: {}, id, id_str: twin, z: {} },
    ],
    [
      { id: { type: 'integer', format: 'uint64' } },
      { id: { type: 'integer', format: 'uint64' }, id_str: twin },
    ],
    [
      { id: { ...id, nullable: true } },
      { id: { ...id, nullable: true }, id_str: { ...twin, nullable: true } },
    ],
    [
      { id: { type: ['integer', 'null'], format: 'int64' } },
      { id: { type: ['integer', 'null'], format: 'int64' }, id_str: { ...twin, type: ['string', 'null'] } },
    ],
    [{ id: { $ref: '#/definitions/id' } }, { id: { $ref: '#/definitions/id' }, id_str: twin }],
    [{ id: { $ref: 'id#' } }, { id: { $ref: 'id#' }, id_str: twin }],
    [{ id: { allOf: [id] } }, { id: { allOf: [id] }, id_str: twin }],
    [
      { id: { anyOf: [{ type: 'boolean' }, id] } },
      { id: { anyOf: [{ type: 'boolean' }, id] }, id_str: twin },
    ],
    [{ ids }, { ids, ids_str: idsTwin }],
    [
      { ids: { ...ids, nullable: true } },
      { ids: { ...ids, nullable: true }, ids_str: { ...idsTwin, nullable: true } },
    ],
  ]
  for (const [properties, completed] of rows) {
    const schema = withTwins(
      { ...(object(properties) as object), definitions: { id } },
      { id: { $id: 'id', ...id } },
    )
    t.strictSame(
      schema,
      { type: 'object', properties: completed, definitions: { id } },
      JSON.stringify(properties),
    )
    const names = Object.keys((schema as { properties: object }).properties)
    t.strictSame(names, Object.keys(completed as object), 'in this order')
  }
})

t.test('at every depth that a schema may have', async (t) => {
  const one = object({ id })
  const done = object({ id, id_str: twin })
  const places: readonly ((part: Json) => Json)[] = [
    (part) => object({ part }),
    (part) => ({ type: 'array', items: part }),
    (part) => ({ type: 'array', items: [part], additionalItems: part }),
    (part) => ({ anyOf: [part, { type: 'null' }] }),
    (part) => ({ oneOf: [part] }),
    (part) => ({ allOf: [part] }),
    (part) => Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, part])),
    (part) => ({ type: 'object', additionalProperties: part }),
    (part) => ({ type: 'object', patternProperties: { '^a': part } }),
    (part) => ({ definitions: { part }, $defs: { part } }),
    (part) => object({ properties: object({ items: part }) }),
  ]
  for (const place of places) t.strictSame(withTwins(place(one)), place(done), JSON.stringify(place(one)))
})

t.test('what has none stays the very object that it is', async (t) => {
  const schemas: readonly Json[] = [
    {},
    true,
    object({
      n: { type: 'integer' },
      s: { type: 'string', format: 'int64' },
      f: { type: 'number', format: 'int64' },
    }),
    object({ id, id_str: { type: 'string', description: 'declared by hand' } }),
    object({
      a: { enum: [{ properties: { id } }], const: { properties: { id } }, default: { properties: { id } } },
    }),
    object({ next: { $ref: '#' } }),
    object({ a: { $ref: 'nobody#' } }),
  ]
  for (const schema of schemas) t.equal(withTwins(schema), schema, JSON.stringify(schema))
})

t.test('the given schema is not changed', async (t) => {
  const schema = object({ a: object({ id }) })
  const before = JSON.stringify(schema)
  withTwins(schema)
  t.equal(JSON.stringify(schema), before)
})

t.test('responses by status, and by media type; what is no JSON Schema is left as it is', async (t) => {
  class Other {
    readonly properties = { id }
  }
  const other = new Other()
  const response = {
    200: object({ id }),
    '4xx': {
      description: 'refused',
      content: { 'application/json': { schema: object({ id }), examples: {} }, 'text/csv': {} },
    },
    default: { $ref: 'user#' },
    500: other,
    204: { type: 'null' },
  }
  const done = object({ id, id_str: twin })
  t.strictSame(withTwinsInResponse(response, {}), {
    ...response,
    200: done,
    '4xx': {
      description: 'refused',
      content: { 'application/json': { schema: done, examples: {} }, 'text/csv': {} },
    },
  })
  t.equal((withTwinsInResponse(response, {}) as Record<string, unknown>)['500'], other)
  for (const none of [undefined, null, 'text', [1]]) t.equal(withTwinsInResponse(none, {}), none)
})

t.test('shared schemas are completed where they are, also those that refer to each other', async (t) => {
  const user = { $id: 'user', ...(object({ id: { $ref: 'id#' }, friend: { $ref: 'user#' } }) as object) }
  const store: SchemaStore = { id: { $id: 'id', ...id }, user, odd: true, zod: null }
  completeShared(store)
  const properties = { id: { $ref: 'id#' }, id_str: twin, friend: { $ref: 'user#' } }
  t.strictSame(user, { $id: 'user', type: 'object', properties })
  completeShared(store)
  t.strictSame(user, { $id: 'user', type: 'object', properties }, 'once is enough')
})

t.test('every twin that random schemas lead to is in the completed schema', async (t) => {
  const sample = anySample({ choices: false, wide: 'declared', open: false })
  const details = fc.check(
    fc.property(sample, ({ schema, shared, payloads }) => {
      const store: Record<string, unknown> = structuredClone(shared)
      completeShared(store)
      const completed = withTwins(schema, store)
      for (const { given } of payloads) {
        const answer = parseExact(ourWriter(schema, { twins: true, shared })(given))
        // A writer drops what its schema does not have.
        const known = parseExact(ourWriter(completed, { twins: false, shared: store })(valueIn(answer)))
        if (leavesOf(known).sort().join('\n') !== leavesOf(answer).sort().join('\n')) return false
      }
      return true
    }),
    { numRuns: 100 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random schemas')
})
