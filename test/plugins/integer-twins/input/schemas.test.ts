/** Wherever a schema declares 64-bit integers, and nowhere else, the handler gets BigInts. */
import { readFile } from 'node:fs/promises'
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../../src/index.js'
import {
  answerOf,
  gets,
  int64,
  listOf as list,
  objectOf,
  received,
  recursive,
  type Schema,
  self,
  uint64,
} from './support.js'

const long = '9007199254740993'
const exact = 9007199254740993n

t.test('integers are found at every place of a schema', async (t) => {
  const definitions = { id: int64 }
  const $ref = '#/definitions/id'
  const integer = { type: 'integer' }
  const patterns = { patternProperties: { '^x': int64, '^y': integer } }
  const beforeMap = { patternProperties: { '^x': integer }, additionalProperties: int64 }
  const ofId: readonly Schema[] = [
    ...[{ $ref }, { $ref, minimum: 1 }, { allOf: [integer, { format: 'int64' }] }],
    { ...integer, anyOf: [{ format: 'int64' }, { minimum: 0 }] },
    { anyOf: [{ type: 'null' }, int64] },
  ]
  const schemas = ofId.map((id) => objectOf({ id }, { definitions }))
  schemas.push(objectOf({ id: { $ref: `item${$ref}` } }, { $id: 'item', definitions }))
  for (const schema of schemas) await gets(t, schema, [[`{"id":${long}}`, { id: exact }]])
  const tree = recursive(objectOf({ id: int64, next: self }))
  const trees = recursive({ type: ['array', 'integer'], format: 'int64', items: self })
  const parts = { allOf: [objectOf({ a: int64 }), objectOf({ b: int64 })] }
  const rows: readonly (readonly [schema: Schema, text: string, value: unknown])[] = [
    [objectOf({ id: { ...int64, nullable: true } }), '{"id":null}', { id: null }],
    [list(int64), `[1,${long}]`, [1n, exact]],
    // A tuple.
    [list([integer, int64]), '[1,2,3]', [1, 2n, 3]],
    [{ type: 'object', additionalProperties: int64 }, `{"a":${long},"b":1}`, { a: exact, b: 1n }],
    [objectOf({ a: integer }, { additionalProperties: int64 }), '{"a":1,"b":2}', { a: 1, b: 2n }],
    [objectOf({}, patterns), '{"x1":1,"y1":2,"z":3}', { x1: 1n, y1: 2, z: 3 }],
    [objectOf({ x1: {} }, patterns), '{"x1":1}', { x1: 1n }],
    [objectOf({}, beforeMap), '{"x1":1,"y":2}', { x1: 1, y: 2n }],
    [tree, `{"next":{"next":{"id":${long}}}}`, { next: { next: { id: exact } } }],
    [trees, `[1,[[${long}]]]`, [1n, [[exact]]]],
    [objectOf({}, parts), '{"a":1,"b":2}', { a: 1n, b: 2n }],
    [objectOf({ id: { oneOf: [int64, list(int64)] } }), `{"id":[${long}]}`, { id: [exact] }],
    [objectOf({ b: int64 }, { dependencies: { a: ['b'] } }), '{"a":1,"b":1}', { a: 1, b: 1n }],
    [objectOf({ id: int64, x: { format: 'int64' } }), '{"id":1,"x":1}', { id: 1n, x: 1 }],
    // A constant is a Number.
    [objectOf({ id: { ...int64, const: 5 } }), '{"id":5}', { id: 5 }],
  ]
  for (const [schema, text, value] of rows) await gets(t, schema, [[text, value]])
})

t.test('shared schemas, and one schema object in two documents', async (t) => {
  const reference = { $ref: '#/definitions/id' }
  const shared = {
    item: objectOf({ id: reference, owner: { $ref: 'user' } }, { $id: 'item', definitions: { id: int64 } }),
    user: objectOf({ id: uint64, item: { $ref: 'item#' } }, { $id: 'user' }),
    other: objectOf({ id: reference }, { $id: 'other', definitions: { id: { type: 'integer' } } }),
  }
  const schema = objectOf({ item: { $ref: 'item#' }, id: { $ref: 'item#/definitions/id' } })
  const text = `{"id":1,"item":{"id":${long},"owner":{"id":2,"item":{"id":3}}}}`
  const value = { id: 1n, item: { id: exact, owner: { id: 2n, item: { id: 3n } } } }
  t.strictSame(await received(schema, text, shared), { value })
  const beside = objectOf({ other: { $ref: 'other#' }, id: reference }, { definitions: { id: int64 } })
  const both = await received(beside, '{"id":1,"other":{"id":1}}', shared)
  t.strictSame(both, { value: { id: 1n, other: { id: 1 } } })
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
  for (const schema of schemas)
    await gets(t, schema, [[`{"id":${long}}`, { id: 9007199254740992 }]], received)
})

t.test('what cannot be read is listed in the report: nothing is rounded without a word', async (t) => {
  const reasonOf = async (body: Schema) => {
    const app = Fastify()
    app.setValidatorCompiler(() => () => true)
    await app.register(integerTwins)
    app.post('/x', { schema: { body } }, async () => '')
    await app.ready()
    const [exception] = app.conventions.report().exceptions
    t.strictSame(exception?.rules, exception && ['input'])
    return exception?.reason
  }
  t.match(await reasonOf(objectOf({ id: { $ref: 'nothing#' } })), /refers to nothing: nothing#/)
  t.equal(await reasonOf(list([int64])), undefined)
  const unread = 'dependencies dependentSchemas additionalItems unevaluatedItems unevaluatedProperties'
  for (const keyword of unread.split(' ')) {
    const one = keyword.startsWith('depend') ? { a: objectOf({ b: uint64 }) } : int64
    t.match(await reasonOf({ [keyword]: one }), `declares 64-bit integers in '${keyword}'`)
  }
  t.match(await reasonOf({ prefixItems: [int64] }), "in 'prefixItems'")
})

t.test('a pattern that is invalid with the flag u', async (t) => {
  const app = Fastify()
  app.setValidatorCompiler(() => () => true)
  const result = await answerOf(app, { body: { patternProperties: { '^\\-': int64 } } }, '{"-x":1,"x":1}')
  t.strictSame(result, { value: { '-x': 1n, x: 1 } })
})

t.test('uint64 in a request needs the format in the validator of Fastify, as the docs say', async (t) => {
  const page = await readFile(new URL('../../../../docs/integer-twins.md', import.meta.url), 'utf8')
  t.match(page, 'Fastify({ ajv: { customOptions: { formats: { uint64: true } } } })')
  const options = { ajv: { customOptions: { formats: { uint64: true } } } } as const
  const largest = '18446744073709551615'
  const schema = objectOf({ id: uint64 })
  for (const [keyword, part, request] of [
    ['body', 'body', `{"id":${largest}}`],
    ['querystring', 'query', { url: `/x?id=${largest}` }],
    ['params', 'params', { url: `/x/${largest}` }],
  ] as const) {
    const answer = await answerOf(Fastify(options), { [keyword]: schema }, request, part)
    t.strictSame(answer, { value: { id: 18446744073709551615n } }, part)
    await t.rejects(answerOf(Fastify(), { [keyword]: schema }, request, part), /unknown format "uint64"/)
  }
})
