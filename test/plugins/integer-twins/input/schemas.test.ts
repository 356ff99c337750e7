/** Wherever a schema declares 64-bit integers, also by `anyOf` and its like, they are exact. */
import { readFile } from 'node:fs/promises'
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../../src/index.js'
import {
  answerOf,
  fromInt64,
  fromUint64,
  gets,
  int64,
  listOf as list,
  listOf,
  objectOf,
  received,
  receivedStrictly,
  recursive,
  refuses,
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

const kind = (name: string, value: Schema, more: Schema = {}): Schema =>
  objectOf({ kind: { const: name }, value }, { required: ['kind'], ...more })
const measure = {
  oneOf: [kind('count', int64), kind('ratio', { type: 'number' }), kind('label', { type: 'string' })],
}

const conditional = (...[test, positive, negative]: readonly Schema[]): Schema =>
  Object.fromEntries(
    Object.entries({ if: test, else: negative })
      .concat([['then', positive]])
      .filter(([, schema]) => schema),
  )

const strictly = { ask: receivedStrictly }
const number = { type: 'number' }

t.test('a member is what the alternative that matches declares, or is refused', async (t) => {
  const rows: readonly (readonly [text: string, value: unknown])[] = [
    [`{"kind":"count","value":${long}}`, { kind: 'count', value: exact }],
    ['{"kind":"count","value":3}', { kind: 'count', value: 3n }],
    ['{"kind":"ratio","value":3}', { kind: 'ratio', value: 3 }],
    [`{"kind":"ratio","value":${long}}`, { kind: 'ratio', value: 9007199254740992 }],
    [`{"kind":"label","value":"${long}"}`, { kind: 'label', value: long }],
  ]
  await gets(t, measure, rows)
  // A value that is invalid only in the alternative that matches.
  const wrong = [
    ['-0', 'must be 0, not -0'],
    ['9223372036854775808', fromInt64],
    ['1e30', fromInt64],
  ] as const
  for (const [value, message] of wrong)
    await refuses(t, measure, [[`{"kind":"count","value":${value}}`, '/value', message]], strictly)
  for (const value of ['1.5', '1e400'])
    t.match(await receivedStrictly(measure, `{"kind":"count","value":${value}}`), { refusal: {} }, value)
  const ranges = { oneOf: [kind('signed', int64), kind('unsigned', uint64)] }
  const most = 18446744073709551615n
  await gets(t, ranges, [[`{"kind":"unsigned","value":${most}}`, { kind: 'unsigned', value: most }]])
  const beyond: readonly (readonly [text: string, pointer: string, message: string])[] = [
    [`{"kind":"signed","value":${most}}`, '/value', fromInt64],
    ['{"kind":"unsigned","value":-1}', '/value', fromUint64],
    ['{"kind":"unsigned","value":-9007199254740993}', '/value', fromUint64],
  ]
  await refuses(t, ranges, beyond, strictly)
})

t.test('an alternative that requires an integer holds with the integer or with its twin', async (t) => {
  const other = objectOf({ value: number })
  const required = objectOf({ id: int64, value: int64 }, { required: ['kind', 'id'] })
  const optional = objectOf({ id: int64, value: int64 })
  const closed = objectOf({ text: {}, value: int64 }, { additionalProperties: false })
  const rows: readonly (readonly [alternative: Schema, text: string, value: unknown])[] = [
    [required, '{"kind":1,"id":5,"value":3}', { kind: 1, id: 5n, value: 3n }],
    [required, '{"kind":1,"value":3}', { kind: 1, value: 3 }],
    [required, '{"id":5,"value":3}', { id: 5, value: 3 }],
    [optional, '{"value":3}', { value: 3n }],
    [closed, '{"text":"a","value":3}', { text: 'a', value: 3n }],
    // Only integers have twins.
    [closed, '{"text_str":"a","value":3}', { text_str: 'a', value: 3 }],
  ]
  for (const [alternative, text, value] of rows)
    await gets(t, { anyOf: [alternative, other] }, [[text, value]])
})

t.test('if, then, else; alternatives beside other keywords', async (t) => {
  const test = { properties: { exact: { const: true } }, required: ['exact'] }
  for (const negative of [[], [objectOf({ value: number })]])
    await gets(t, conditional(test, objectOf({ value: int64 }), ...negative), [
      [`{"exact":true,"value":${long}}`, { exact: true, value: exact }],
      ['{"exact":false,"value":1}', { exact: false, value: 1 }],
      ['{"value":1.5}', { value: 1.5 }],
    ])
  for (const [always, value] of [[true, 1n] as const, [false, 1] as const]) {
    const constant = { ...conditional({}, objectOf({ value: int64 }), objectOf({ value: {} })), if: always }
    await gets(t, constant, [['{"value":1}', { value }]])
  }
  const schema = objectOf({ id: int64, kind: {} }, { anyOf: [kind('a', int64), kind('b', number)] })
  await gets(t, schema, [[`{"id":${long},"kind":"b","value":1}`, { id: exact, kind: 'b', value: 1 }]])
  await refuses(t, schema, [['{"id":-0,"kind":"b"}', '/id', 'must be 0, not -0']], strictly)
})

t.test('an integer that another alternative, or its type, allows as a number', async (t) => {
  const either = { anyOf: [int64, number] }
  const typed = { type: ['integer', 'number'], format: 'int64' }
  const rows: readonly (readonly [json: string, x: unknown, schemas: readonly Schema[]])[] = [
    [long, exact, [either, typed]],
    ['3', 3n, [either, typed]],
    ['-0', -0, [either, typed]],
    ['1e300', 1e300, [either, typed, { anyOf: [int64, { type: 'integer' }] }]],
    ['1e300', 1e300, [{ anyOf: [int64, { const: 1e300 }] }]],
    // The format refuses a Number with a fraction, and one out of the range.
    ['1.5', 1.5, [either]],
    ['9223372036854775808', 2 ** 63, [either]],
  ]
  for (const [json, value, schemas] of rows)
    for (const x of schemas) await gets(t, objectOf({ x }), [[`{"x":${json}}`, { x: value }]])
  await gets(t, { anyOf: [objectOf({ x: int64 }), {}] }, [['{"x":1e300}', { x: 1e300 }]])
  await gets(t, { anyOf: [number, int64].map(listOf) }, [[`[${long}]`, [exact]]])
  const wider = { anyOf: [objectOf({ x: int64 }), objectOf({ x: { anyOf: [uint64, { type: 'null' }] } })] }
  await gets(t, wider, [['{"x":18446744073709551615}', { x: 18446744073709551615n }]])
})

t.test('undeclared numbers beside alternatives are those of JSON.parse', async (t) => {
  const schema = { ...listOf(measure), uniqueItems: true }
  const texts = ['{"kind":"ratio","value":9007199254740992}', `{"kind":"count","value":${long}}`]
  const [ratio, count] = [
    { kind: 'ratio', value: 9007199254740992 } as const,
    { kind: 'count', value: exact },
  ]
  await gets(t, schema, [[`[${texts}]`, [ratio, count]]])
  await gets(t, schema, [[`[${texts.reverse()}]`, [count, ratio]]])
})

t.test('if no alternative can be tested, or none matches, a declared integer is exact', async (t) => {
  const schemas: readonly Schema[] = [
    { anyOf: [objectOf({ id: int64 }, { minProperties: 'x' }), objectOf({ x: {} })] },
    { anyOf: [objectOf({ id: int64 }, { pattern: '(' }), objectOf({ x: {} })] },
    { oneOf: [objectOf({ id: int64 }, { required: ['x'] }), objectOf({ id: int64 }, { required: ['y'] })] },
  ]
  for (const body of schemas) {
    const app = Fastify()
    app.setValidatorCompiler(() => () => true)
    const result = await answerOf(app, { body }, `{"id":${long}}`)
    t.strictSame(result, { value: { id: exact } }, JSON.stringify(body))
  }
})
