/** `anyOf` and its like: which integers are declared depends on the alternatives that hold. */
import Fastify from 'fastify'
import t from 'tap'
import {
  answerOf,
  fromInt64,
  fromUint64,
  int64,
  objectOf,
  received,
  receivedStrictly,
  recursive,
  type Schema,
  self,
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

const invalid = (pointer: string, message: string): object => ({
  refusal: { kind: 'invalid', issues: [{ in: 'body', pointer, message }] },
})

t.test('the same member declared differently', async (t) => {
  const rows: readonly (readonly [text: string, value: unknown])[] = [
    [`{"kind":"count","value":${long}}`, { kind: 'count', value: exact }],
    ['{"kind":"count","value":3}', { kind: 'count', value: 3n }],
    ['{"kind":"ratio","value":3}', { kind: 'ratio', value: 3 }],
    ['{"kind":"ratio","value":1.5}', { kind: 'ratio', value: 1.5 }],
    ['{"kind":"ratio","value":-0}', { kind: 'ratio', value: -0 }],
    ['{"kind":"ratio","value":1e30}', { kind: 'ratio', value: 1e30 }],
    [`{"kind":"ratio","value":${long}}`, { kind: 'ratio', value: 9007199254740992 }],
    [`{"kind":"label","value":"${long}"}`, { kind: 'label', value: long }],
  ]
  for (const [text, value] of rows) t.strictSame(await receivedStrictly(measure, text), { value }, text)
})

t.test('a value that is invalid only in the matching alternative is refused', async (t) => {
  t.strictSame(
    await receivedStrictly(measure, '{"kind":"count","value":-0}'),
    invalid('/value', 'must be 0, not -0'),
  )
  t.strictSame(
    await receivedStrictly(measure, '{"kind":"count","value":9223372036854775808}'),
    invalid('/value', fromInt64),
  )
  t.strictSame(await receivedStrictly(measure, '{"kind":"count","value":1e30}'), invalid('/value', fromInt64))
  t.match(await receivedStrictly(measure, '{"kind":"count","value":1.5}'), { refusal: { issues: [] } })
  t.match(await receivedStrictly(measure, '{"kind":"count","value":1e400}'), { refusal: { issues: [] } })
  const ranges = { oneOf: [kind('signed', int64), kind('unsigned', uint64)] }
  t.strictSame(await receivedStrictly(ranges, '{"kind":"unsigned","value":18446744073709551615}'), {
    value: { kind: 'unsigned', value: 18446744073709551615n },
  })
  t.strictSame(
    await receivedStrictly(ranges, '{"kind":"signed","value":18446744073709551615}'),
    invalid('/value', fromInt64),
  )
  for (const value of ['-1', '-9007199254740993']) {
    t.strictSame(
      await receivedStrictly(ranges, `{"kind":"unsigned","value":${value}}`),
      invalid('/value', fromUint64),
    )
  }
})

t.test('an alternative that requires an integer holds with the integer or with its twin', async (t) => {
  const other = objectOf({ value: { type: 'number' } })
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
    t.strictSame(await receivedStrictly({ anyOf: [alternative, other] }, text), { value }, text)
})

t.test('alternatives in arrays, in maps and in alternatives', async (t) => {
  const schema = objectOf({ all: { type: 'array', items: { anyOf: [measure, { type: 'null' }] } } })
  const text = `{"all":[{"kind":"count","value":1},null,{"kind":"ratio","value":1},{"kind":"count","value":${long}}]}`
  t.strictSame(await receivedStrictly(schema, text), {
    value: {
      all: [{ kind: 'count', value: 1n }, null, { kind: 'ratio', value: 1 }, { kind: 'count', value: exact }],
    },
  })
  const map = { type: 'object', additionalProperties: { anyOf: [{ type: 'boolean' }, int64] } }
  t.strictSame(await receivedStrictly(map, `{"a":true,"b":${long}}`), { value: { a: true, b: exact } })
})

t.test('alternatives beside other keywords', async (t) => {
  const schema = objectOf(
    { id: int64, kind: {} },
    { anyOf: [kind('a', int64), kind('b', { type: 'number' })] },
  )
  t.strictSame(await receivedStrictly(schema, `{"id":${long},"kind":"b","value":1}`), {
    value: { id: exact, kind: 'b', value: 1 },
  })
  t.strictSame(await receivedStrictly(schema, '{"id":-0,"kind":"b"}'), invalid('/id', 'must be 0, not -0'))
})

t.test('if, then, else', async (t) => {
  const test = { properties: { exact: { const: true } }, required: ['exact'] }
  const schema = conditional(test, objectOf({ value: int64 }), objectOf({ value: { type: 'number' } }))
  t.strictSame(await receivedStrictly(schema, `{"exact":true,"value":${long}}`), {
    value: { exact: true, value: exact },
  })
  t.strictSame(await receivedStrictly(schema, '{"exact":true,"value":1}'), {
    value: { exact: true, value: 1n },
  })
  t.strictSame(await receivedStrictly(schema, '{"exact":false,"value":1}'), {
    value: { exact: false, value: 1 },
  })
  t.strictSame(await receivedStrictly(schema, '{"value":1.5}'), { value: { value: 1.5 } })
  const onlyThen = conditional(test, objectOf({ value: int64 }))
  t.strictSame(await receivedStrictly(onlyThen, '{"exact":true,"value":1}'), {
    value: { exact: true, value: 1n },
  })
  t.strictSame(await receivedStrictly(onlyThen, '{"exact":false,"value":1}'), {
    value: { exact: false, value: 1 },
  })
  for (const [always, value] of [
    [true, 1n],
    [false, 1],
  ]) {
    const constant = { ...conditional({}, objectOf({ value: int64 }), objectOf({ value: {} })), if: always }
    t.strictSame(await receivedStrictly(constant, '{"value":1}'), { value: { value } }, `if: ${always}`)
  }
})

t.test('an integer that another alternative allows as a number', async (t) => {
  const schema = objectOf({ x: { anyOf: [int64, { type: 'number' }] } })
  const rows: readonly (readonly [json: string, x: unknown])[] = [
    [long, exact],
    ['3', 3n],
    ['1.5', 1.5],
    ['-0', -0],
    ['1e300', 1e300],
    ['9223372036854775808', 2 ** 63],
  ]
  for (const [json, x] of rows)
    t.strictSame(await receivedStrictly(schema, `{"x":${json}}`), { value: { x } }, json)
})

t.test('an integer of 64 bits whose type is also number', async (t) => {
  const schema = objectOf({ x: { type: ['integer', 'number'], format: 'int64' } })
  const rows: readonly (readonly [json: string, x: unknown])[] = [
    [long, exact],
    ['3', 3n],
    ['-0', -0],
    ['1e30', 1e30],
  ]
  for (const [json, x] of rows)
    t.strictSame(await receivedStrictly(schema, `{"x":${json}}`), { value: { x } }, json)
})

t.test('references in alternatives', async (t) => {
  const schema = {
    definitions: { count: kind('count', int64), ratio: kind('ratio', { type: 'number' }) },
    anyOf: [{ $ref: '#/definitions/count' }, { $ref: '#/definitions/ratio' }],
  }
  t.strictSame(await receivedStrictly(schema, '{"kind":"count","value":1}'), {
    value: { kind: 'count', value: 1n },
  })
  t.strictSame(await receivedStrictly(schema, '{"kind":"ratio","value":1}'), {
    value: { kind: 'ratio', value: 1 },
  })
  const shared = { all: { ...schema, $id: 'all' } }
  t.strictSame(
    await received({ type: 'array', items: { $ref: 'all#' } }, '[{"kind":"count","value":1}]', shared),
    {
      value: [{ kind: 'count', value: 1n }],
    },
  )
})

t.test('a tree of alternatives', async (t) => {
  const tree = recursive({
    anyOf: [int64, { type: 'array', items: self }, objectOf({ number: { type: 'number' } })],
  })
  t.strictSame(await receivedStrictly(tree, `[1,[${long},{"number":1}]]`), {
    value: [1n, [exact, { number: 1 }]],
  })
})

t.test('undeclared numbers beside alternatives are those of JSON.parse', async (t) => {
  const schema = { type: 'array', items: measure, uniqueItems: true }
  const ratio = '{"kind":"ratio","value":9007199254740992}'
  const count = `{"kind":"count","value":${long}}`
  const values = [
    { kind: 'ratio', value: 9007199254740992 },
    { kind: 'count', value: exact },
  ]
  t.strictSame(await receivedStrictly(schema, `[${ratio},${count}]`), { value: values })
  t.strictSame(await receivedStrictly(schema, `[${count},${ratio}]`), { value: [...values].reverse() })
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
    const headers = { 'content-type': 'application/json' }
    const payload = `{"id":${long}}`
    const result = await answerOf(app, { body }, { method: 'POST', url: '/x', headers, payload })
    t.strictSame(result, { value: { id: exact } }, JSON.stringify(body))
    await app.close()
  }
})
