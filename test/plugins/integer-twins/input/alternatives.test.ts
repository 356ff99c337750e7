/** `anyOf` and its like: which integers are declared depends on the alternatives that hold. */
import Fastify from 'fastify'
import t from 'tap'
import {
  answerOf,
  fromInt64,
  fromUint64,
  gets,
  int64,
  listOf,
  objectOf,
  receivedStrictly,
  refuses,
  type Schema,
  uint64,
} from './support.js'

const long = '9007199254740993'
const exact = 9007199254740993n

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
