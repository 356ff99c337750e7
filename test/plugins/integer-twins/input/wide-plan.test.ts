/** decisions.md §3 "Integer twins": wherever a schema declares 64-bit integers, and nowhere else. */
import t from 'tap'
import { compileWidePlan } from '../../../../src/plugins/integer-twins/input/wide-plan.js'
import { int64, objectOf, received, receivedStrictly, type Schema, uint64 } from './wide-support.js'

const long = '9007199254740993'
const exact = 9007199254740993n
const list = (items: unknown): Schema => ({ type: 'array', items })

t.test('a schema without 64-bit integers needs nothing done', async (t) => {
  const schemas: readonly unknown[] = [
    undefined,
    true,
    {},
    objectOf({ id: { type: 'integer' }, x: { type: 'integer', format: 'int32' } }),
    // The form in which some other interfaces carry them.
    objectOf({ id: { type: 'string', format: 'int64' }, x: { type: 'number', format: 'int64' } }),
    objectOf({ int64: { type: 'integer' } }, { default: int64, examples: [int64], const: int64 }),
    objectOf({ next: { $ref: '#' } }, { definitions: { unused: int64 } }),
    { not: int64 },
  ]
  for (const schema of schemas)
    t.equal(compileWidePlan(schema, { place: 'body' }), null, JSON.stringify(schema))
})

t.test('a format says nothing without the type', async (t) => {
  const schema = objectOf({ id: int64, x: { format: 'int64' } })
  t.strictSame(receivedStrictly(schema, '{"id":1,"x":1}'), { value: { id: 1n, x: 1 } })
})

t.test('a pattern that is none for Unicode', async (t) => {
  const plan = compileWidePlan({ patternProperties: { '^\\-': int64 } }, { place: 'body' })
  t.equal(plan?.root.nodeOf?.('-x')?.twinned, true)
  t.equal(plan?.root.nodeOf?.('x'), null)
})

t.test('a reference to nothing', async (t) => {
  for (const $ref of ['nothing#', '#/definitions/x']) {
    t.throws(() => compileWidePlan(objectOf({ id: { $ref } }), { place: 'body' }), {
      name: 'TypeError',
      message: $ref,
    })
  }
})

t.test('every place of a schema', async (t) => {
  const definitions = { id: int64 }
  const rows: readonly (readonly [about: string, schema: Schema, text: string, value: unknown])[] = [
    ['nested', objectOf({ a: objectOf({ b: int64 }) }), `{"a":{"b":${long}}}`, { a: { b: exact } }],
    ['nullable', objectOf({ id: { ...int64, nullable: true } }), `{"id":${long}}`, { id: exact }],
    ['null', objectOf({ id: { ...int64, nullable: true } }), '{"id":null}', { id: null }],
    ['types', objectOf({ id: { ...int64, type: ['null', 'integer'] } }), `{"id":${long}}`, { id: exact }],
    ['array', list(int64), `[1,${long}]`, [1n, exact]],
    ['arrays', list(list(int64)), `[[1],[${long}]]`, [[1n], [exact]]],
    ['tuple', list([{ type: 'integer' }, int64]), `[1,2,3]`, [1, 2n, 3]],
    [
      'tuple, rest',
      { type: 'array', items: [{ type: 'integer' }], additionalItems: int64 },
      `[1,2,${long}]`,
      [1, 2n, exact],
    ],
    ['map', { type: 'object', additionalProperties: int64 }, `{"a":${long},"b":1}`, { a: exact, b: 1n }],
    [
      'map beside members',
      objectOf({ a: { type: 'integer' } }, { additionalProperties: int64 }),
      '{"a":1,"b":2}',
      { a: 1, b: 2n },
    ],
    [
      'patterns',
      objectOf({}, { patternProperties: { '^x': int64, '^y': { type: 'integer' } } }),
      '{"x1":1,"y1":2,"z":3}',
      { x1: 1n, y1: 2, z: 3 },
    ],
    [
      'pattern and member',
      objectOf({ x1: {} }, { patternProperties: { '^x': int64 } }),
      '{"x1":1}',
      { x1: 1n },
    ],
    [
      'pattern before map',
      objectOf({}, { patternProperties: { '^x': { type: 'integer' } }, additionalProperties: int64 }),
      '{"x1":1,"y":2}',
      { x1: 1, y: 2n },
    ],
    ['$ref', objectOf({ id: { $ref: '#/definitions/id' } }, { definitions }), '{"id":1}', { id: 1n }],
    [
      '$ref with siblings',
      objectOf({ id: { $ref: '#/definitions/id', minimum: 1 } }, { definitions }),
      '{"id":1}',
      { id: 1n },
    ],
    [
      'its own $id',
      objectOf({ id: { $ref: 'item#/definitions/id' } }, { $id: 'item', definitions }),
      '{"id":1}',
      { id: 1n },
    ],
    [
      'recursion',
      objectOf({ id: int64, next: { $ref: '#' } }),
      `{"next":{"next":{"id":${long}}}}`,
      { next: { next: { id: exact } } },
    ],
    [
      'recursive array',
      { $id: 'r', type: ['array', 'integer'], format: 'int64', items: { $ref: 'r#' } },
      `[1,[[${long}]]]`,
      [1n, [[exact]]],
    ],
    [
      'allOf',
      objectOf({}, { allOf: [objectOf({ a: int64 }), objectOf({ b: int64 })] }),
      '{"a":1,"b":2}',
      { a: 1n, b: 2n },
    ],
    [
      'allOf of one integer',
      objectOf({ id: { allOf: [{ type: 'integer' }, { format: 'int64' }] } }),
      '{"id":1}',
      { id: 1n },
    ],
    [
      'allOf and anyOf of one integer',
      objectOf({ id: { type: 'integer', anyOf: [{ format: 'int64' }, { minimum: 0 }] } }),
      '{"id":1}',
      { id: 1n },
    ],
    ['anyOf null', objectOf({ id: { anyOf: [{ type: 'null' }, int64] } }), '{"id":1}', { id: 1n }],
    ['oneOf types', objectOf({ id: { oneOf: [{ type: 'string' }, int64] } }), '{"id":1}', { id: 1n }],
    [
      'one or several',
      objectOf({ id: { oneOf: [int64, list(int64)] } }),
      `{"id":[${long}]}`,
      { id: [exact] },
    ],
    [
      'dependent schema',
      objectOf({}, { dependencies: { a: objectOf({ b: int64 }) } }),
      '{"a":1,"b":1}',
      { a: 1, b: 1n },
    ],
  ]
  for (const [about, schema, text, value] of rows)
    t.strictSame(receivedStrictly(schema, text), { value }, about)
})

t.test('shared schemas', async (t) => {
  const shared = {
    item: {
      ...objectOf({ id: { $ref: '#/definitions/id' }, owner: { $ref: 'user' } }),
      $id: 'item',
      definitions: { id: int64 },
    },
    user: { ...objectOf({ id: uint64, item: { $ref: 'item#' } }), $id: 'user' },
  }
  const schema = objectOf({ item: { $ref: 'item#' }, id: { $ref: 'item#/definitions/id' } })
  t.strictSame(received(schema, `{"id":1,"item":{"id":${long},"owner":{"id":2,"item":{"id":3}}}}`, shared), {
    value: { id: 1n, item: { id: exact, owner: { id: 2n, item: { id: 3n } } } },
  })
})

t.test('one schema object in two documents', async (t) => {
  const reference = { $ref: '#/definitions/id' }
  const shared = {
    other: { ...objectOf({ id: reference }), $id: 'other', definitions: { id: { type: 'integer' } } },
  }
  const schema = objectOf({ other: { $ref: 'other#' }, id: reference }, { definitions: { id: int64 } })
  t.strictSame(received(schema, '{"id":1,"other":{"id":1}}', shared), { value: { id: 1n, other: { id: 1 } } })
})

t.test('items and members of newer drafts', async (t) => {
  const plan = (schema: unknown): boolean => compileWidePlan(schema, { place: 'body' }) !== null
  t.ok(plan({ prefixItems: [int64] }))
  t.ok(plan({ unevaluatedItems: int64 }))
  t.ok(plan({ unevaluatedProperties: int64 }))
  t.ok(plan({ dependentSchemas: { a: objectOf({ b: int64 }) } }))
  t.ok(plan({ $ref: '#/$defs/id', $defs: { id: int64 } }))
})

t.test('a schema is not changed', async (t) => {
  const freeze = <Value>(value: Value): Value => {
    if (typeof value === 'object' && value !== null)
      for (const part of Object.values(Object.freeze(value))) freeze(part)
    return value
  }
  const schema = freeze(objectOf({ id: { anyOf: [int64, { type: 'null' }] }, ids: list(int64) }))
  t.strictSame(receivedStrictly(schema, '{"id":1,"ids":[2]}'), { value: { id: 1n, ids: [2n] } })
})
