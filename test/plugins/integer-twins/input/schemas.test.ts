/** Wherever a schema declares 64-bit integers, and nowhere else, the handler gets BigInts. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../../src/index.js'
import {
  answerOf,
  int64,
  objectOf,
  type Received,
  received,
  receivedStrictly,
  recursive,
  type Schema,
  self,
  uint64,
} from './support.js'

const long = '9007199254740993'
const exact = 9007199254740993n
const list = (items: unknown): Schema => ({ type: 'array', items })

t.test('a format without the type integer is ignored', async (t) => {
  const schema = objectOf({ id: int64, x: { format: 'int64' } })
  t.strictSame(await receivedStrictly(schema, '{"id":1,"x":1}'), { value: { id: 1n, x: 1 } })
})

t.test('integers are found at every place of a schema', async (t) => {
  const definitions = { id: int64 }
  const rows: readonly (readonly [about: string, schema: Schema, text: string, value: unknown])[] = [
    ['nested', objectOf({ a: objectOf({ b: int64 }) }), `{"a":{"b":${long}}}`, { a: { b: exact } }],
    ['nullable', objectOf({ id: { ...int64, nullable: true } }), `{"id":${long}}`, { id: exact }],
    ['null', objectOf({ id: { ...int64, nullable: true } }), '{"id":null}', { id: null }],
    ['types', objectOf({ id: { ...int64, type: ['null', 'integer'] } }), `{"id":${long}}`, { id: exact }],
    ['array', list(int64), `[1,${long}]`, [1n, exact]],
    ['arrays', list(list(int64)), `[[1],[${long}]]`, [[1n], [exact]]],
    ['tuple', list([{ type: 'integer' }, int64]), `[1,2,3]`, [1, 2n, 3]],
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
      recursive(objectOf({ id: int64, next: self })),
      `{"next":{"next":{"id":${long}}}}`,
      { next: { next: { id: exact } } },
    ],
    [
      'recursive array',
      recursive({ type: ['array', 'integer'], format: 'int64', items: self }),
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
      'dependent names',
      objectOf({ b: int64 }, { dependencies: { a: ['b'] } }),
      '{"a":1,"b":1}',
      { a: 1, b: 1n },
    ],
    ['a constant, which is a Number', objectOf({ id: { ...int64, const: 5 } }), '{"id":5}', { id: 5 }],
  ]
  for (const [about, schema, text, value] of rows)
    t.strictSame(await receivedStrictly(schema, text), { value }, about)
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
  t.strictSame(
    await received(schema, `{"id":1,"item":{"id":${long},"owner":{"id":2,"item":{"id":3}}}}`, shared),
    {
      value: { id: 1n, item: { id: exact, owner: { id: 2n, item: { id: 3n } } } },
    },
  )
})

t.test('one schema object in two documents', async (t) => {
  const reference = { $ref: '#/definitions/id' }
  const shared = {
    other: { ...objectOf({ id: reference }), $id: 'other', definitions: { id: { type: 'integer' } } },
  }
  const schema = objectOf({ other: { $ref: 'other#' }, id: reference }, { definitions: { id: int64 } })
  t.strictSame(await received(schema, '{"id":1,"other":{"id":1}}', shared), {
    value: { id: 1n, other: { id: 1 } },
  })
})

t.test('a schema without 64-bit integers leaves the body as it is', async (t) => {
  const schemas: readonly Schema[] = [
    objectOf({ id: { type: 'integer' }, x: { type: 'integer', format: 'int32' } }),
    // The form in which some other interfaces carry them.
    objectOf({ id: { type: 'number', format: 'int64' } }),
    objectOf({ id: { type: 'integer' } }, { default: int64, examples: [int64] }),
    objectOf({ id: {} }, { definitions: { unused: int64 } }),
    { not: objectOf({ id: { ...int64, maximum: 1 } }) },
  ]
  for (const schema of schemas) {
    t.strictSame(
      await received(schema, `{"id":${long}}`),
      { value: { id: 9007199254740992 } },
      JSON.stringify(schema),
    )
  }
})

t.test('a pattern that is invalid with the flag u', async (t) => {
  const result = await byAnyValidator({ patternProperties: { '^\\-': int64 } }, `{"-x":${long},"x":1}`)
  t.strictSame(result, { value: { '-x': exact, x: 1 } })
})

t.test('what cannot be read is listed in the report: nothing is rounded without a word', async (t) => {
  const bodies: readonly (readonly [body: Schema, reason: RegExp])[] = [
    [objectOf({ id: { $ref: 'nothing#' } }), /refers to nothing: nothing#/],
    [{ prefixItems: [int64] }, /declares 64-bit integers in 'prefixItems'/],
    [{ dependentSchemas: { a: objectOf({ b: int64 }) } }, /in 'dependentSchemas'/],
    [list([int64]), /^$/],
  ]
  for (const [body, reason] of bodies) {
    const app = Fastify()
    app.setValidatorCompiler(() => () => true)
    await app.register(integerTwins)
    app.post('/x', { schema: { body } }, async () => '')
    await app.ready()
    const [exception] = app.conventions.report().exceptions
    t.match(exception?.reason ?? '', reason, JSON.stringify(body))
    await app.close()
  }
})

/** With a validator that takes anything, for keywords that Fastify's own does not know. */
async function byAnyValidator(body: Schema, payload: string): Promise<Received> {
  const app = Fastify()
  app.setValidatorCompiler(() => () => true)
  const headers = { 'content-type': 'application/json' }
  const result = await answerOf(app, { body }, { method: 'POST', url: '/x', headers, payload })
  await app.close()
  return result
}
