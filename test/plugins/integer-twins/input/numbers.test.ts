/** Integers of 64 bits in the body of a request: the handler gets the exact BigInt, or the request is refused. */
import t from 'tap'
import {
  fromInt64,
  fromUint64,
  int64,
  objectOf,
  received,
  receivedStrictly,
  recursive,
  self,
  uint64,
} from './support.js'

const invalid = (pointer: string, message: string): object => ({
  refusal: { kind: 'invalid', issues: [{ in: 'body', pointer, message }] },
})
const byValidator = 'in the words of the validator'
const notZero = 'must be 0, not -0'
const notDecimal = 'must be an integer in plain decimal digits'
const plainDigits = 'must be written in plain digits, as it is beyond 2^53'

t.test('a declared integer reaches the handler as an exact BigInt', async (t) => {
  const rows: readonly (readonly [literal: string, exact: bigint])[] = [
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9007199254740991', 9007199254740991n],
    ['9007199254740992', 9007199254740992n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['0', 0n],
    ['5', 5n],
    ['-5', -5n],
    ['1e3', 1000n],
    ['1.0', 1n],
    ['100e-1', 10n],
  ]
  for (const [literal, exact] of rows) {
    const text = `{"id":${literal}}`
    t.strictSame(await receivedStrictly(objectOf({ id: int64 }), text), { value: { id: exact } }, text)
  }
})

t.test('a value that is not a 64-bit integer is refused', async (t) => {
  const rows: readonly (readonly [literal: string, message: string])[] = [
    ['9223372036854775808', fromInt64],
    ['-9223372036854775809', fromInt64],
    ['18446744073709551616', fromInt64],
    ['1e400', byValidator],
    ['-1e400', byValidator],
    ['9'.repeat(10_000), byValidator],
    ['1.5', byValidator],
    ['0.1234567890123456789', byValidator],
    ['9007199254740991.4', notDecimal],
    ['1.00000000000000000001', notDecimal],
    ['1.0000000000000000', notDecimal],
    ['-0', notZero],
    ['-0.0', notZero],
    ['-0.00000000000000000000', notZero],
    ['1e17', plainDigits],
    ['9007199254740993.0', notDecimal],
    ['9007199254740992e0', notDecimal],
  ]
  for (const [literal, message] of rows) {
    const schema = objectOf({ id: int64 })
    const result = await received(schema, `{"id":${literal}}`)
    if (message === byValidator)
      t.match(result, { refusal: { issues: [{ pointer: '/id' }] } }, literal.slice(0, 30))
    else t.strictSame(result, invalid('/id', message), literal.slice(0, 30))
  }
})

t.test('unsigned ones', async (t) => {
  const schema = objectOf({ id: uint64 })
  t.strictSame(await received(schema, '{"id":18446744073709551615}'), {
    value: { id: 18446744073709551615n },
  })
  t.strictSame(await received(schema, '{"id":0}'), { value: { id: 0n } })
  for (const literal of ['18446744073709551616', '-1', '-9007199254740993']) {
    t.strictSame(await received(schema, `{"id":${literal}}`), invalid('/id', fromUint64), literal)
  }
})

t.test('the pointer leads to the integer (RFC 6901 §3)', async (t) => {
  const schema = objectOf({ 'a/b~': { type: 'array', items: objectOf({ id: int64 }) } })
  t.strictSame(await received(schema, '{"a/b~":[{"id":1},{"id":-0}]}'), invalid('/a~1b~0/1/id', notZero))
  t.strictSame(await received(int64, '-0'), invalid('', notZero))
})

t.test('at most 50 errors are sent', async (t) => {
  const result = await received({ type: 'array', items: int64 }, `[${Array(80).fill('-0').join()}]`)
  t.ok('refusal' in result)
  t.equal('refusal' in result ? result.refusal.issues.length : 0, 50)
})

t.test('a body that is an integer', async (t) => {
  t.strictSame(await received(int64, '9007199254740993'), { value: 9007199254740993n })
  t.strictSame(await received(int64, ' 7 '), { value: 7n })
})

t.test('undeclared long integers are Numbers, as without the plugin', async (t) => {
  const schema = objectOf({ id: int64, deep: objectOf({ id: int64 }) })
  const text = '{"x":12345678901234567,"deep":{"y":[{"z":12345678901234567}],"id":1},"id":9007199254740993}'
  t.strictSame(await receivedStrictly(schema, text), {
    value: {
      x: 12345678901234568,
      deep: { y: [{ z: 12345678901234568 }], id: 1n },
      id: 9007199254740993n,
    },
  })
})

t.test('of duplicate keys the last one is used', async (t) => {
  const schema = objectOf({ id: int64 })
  t.strictSame(await received(schema, '{"id":9007199254740993,"id":9007199254740995}'), {
    value: { id: 9007199254740995n },
  })
  t.strictSame(await received(schema, '{"id":9007199254740993,"id":1}'), { value: { id: 1n } })
})

t.test('other types are left to the validator', async (t) => {
  const schema = objectOf({ id: int64 })
  for (const json of [
    '"x"',
    'true',
    'null',
    '{}',
    '[]',
    '[1]',
    '[1,2]',
    '"12"',
    '"9007199254740993"',
    '""',
  ]) {
    const result = await receivedStrictly(schema, `{"id":${json}}`)
    t.match(result, { refusal: { issues: [{ pointer: '/id', message: /must be integer/ }] } }, json)
  }
})

t.test('values that a validator converts to integers are exact', async (t) => {
  const rows: readonly (readonly [json: string, exact: bigint])[] = [
    ['"9007199254740993"', 9007199254740993n],
    ['"-9223372036854775808"', -9223372036854775808n],
    ['"12"', 12n],
    ['[9007199254740993]', 9007199254740993n],
    ['["9007199254740993"]', 9007199254740993n],
    ['true', 1n],
    ['" 12 "', 12n],
  ]
  for (const [json, exact] of rows) {
    t.strictSame(await received(objectOf({ id: int64 }), `{"id":${json}}`), { value: { id: exact } }, json)
  }
  const refused: readonly (readonly [json: string, message: string])[] = [
    ['"9223372036854775808"', fromInt64],
    ['" 9007199254740993 "', notDecimal],
    ['"9007199254740993.0"', notDecimal],
    ['"1e30"', fromInt64],
    ['"-0"', notZero],
  ]
  for (const [json, message] of refused) {
    t.strictSame(await received(objectOf({ id: int64 }), `{"id":${json}}`), invalid('/id', message), json)
  }
})

t.test('a validator may convert between a value and an array of one item', async (t) => {
  const schema = objectOf({ ids: { type: 'array', items: int64 } })
  t.strictSame(await received(schema, '{"ids":9007199254740993}'), { value: { ids: [9007199254740993n] } })
  t.strictSame(await received(schema, '{"ids":"9007199254740993"}'), { value: { ids: [9007199254740993n] } })
  t.strictSame(await received(schema, '{"ids":[]}'), { value: { ids: [] } })
})

t.test('an integer that a validator converts to text has all its digits', async (t) => {
  const schema = objectOf({ id: { anyOf: [{ type: 'string' }, int64] } })
  t.strictSame(await received(schema, '{"id":9007199254740993}'), { value: { id: '9007199254740993' } })
  t.strictSame(await receivedStrictly(schema, '{"id":9007199254740993}'), {
    value: { id: 9007199254740993n },
  })
  t.strictSame(await receivedStrictly(schema, '{"id":"9007199254740993"}'), {
    value: { id: '9007199254740993' },
  })
})

t.test('the validator sees the Number that JSON.parse makes', async (t) => {
  const schema = objectOf({ id: { ...int64, minimum: 1, maximum: 9007199254740992 } })
  t.strictSame(await received(schema, '{"id":9007199254740992}'), { value: { id: 9007199254740992n } })
  t.match(await received(schema, '{"id":9007199254740995}'), {
    refusal: { issues: [{ message: /must be <=/ }] },
  })
  t.match(await received(schema, '{"id":0}'), { refusal: { issues: [{ message: /must be >=/ }] } })
})

t.test('two integers beyond 2^53 with the same Number stay different', async (t) => {
  const ids = Array.from({ length: 200 }, (_, index) => 9007199254740900n + BigInt(index))
  const schema = { type: 'array', items: int64, uniqueItems: true }
  t.strictSame(await received(schema, `[${ids.join()}]`), { value: ids })
  t.strictSame(await received(schema, `[${[...ids].reverse().join()}]`), { value: [...ids].reverse() })
  t.match(await received(schema, `[${[...ids, ids[150]].join()}]`), {
    refusal: { issues: [{ message: /duplicate/ }] },
  })
  const objects = { type: 'array', items: objectOf({ id: int64 }), uniqueItems: true }
  const text = `[{"id":${ids[100]}},{"id":${ids[101]}}]`
  t.strictSame(await received(objects, text), { value: [{ id: ids[100] }, { id: ids[101] }] })
  t.strictSame(await received(schema, '[-9007199254740993,-9007199254740992,-9007199254740991]'), {
    value: [-9007199254740993n, -9007199254740992n, -9007199254740991n],
  })
})

t.test('a nested body', async (t) => {
  const tree = recursive(objectOf({ id: int64, next: self }))
  const nested = (levels: number): string => `${'{"next":'.repeat(levels)}{"id":-0}${'}'.repeat(levels)}`
  t.strictSame(await received(tree, nested(3)), invalid('/next/next/next/id', notZero))
  t.strictSame(await received(tree, nested(600)), {
    refusal: {
      kind: 'invalid',
      issues: [
        { in: 'body', pointer: `${'/next'.repeat(60)}…`, message: 'must not nest deeper than 500 levels' },
      ],
    },
  })
})

t.test('40,000 such integers stay different', async (t) => {
  const ids = Array.from({ length: 40_000 }, (_, index) => 9223372036854700000n + BigInt(index))
  t.strictSame(await received({ type: 'array', items: int64, uniqueItems: true }, `[${ids.join()}]`), {
    value: ids,
  })
})

t.test('integers with uniqueItems do not change other members', async (t) => {
  const schema = objectOf({
    set: { type: 'array', items: int64, uniqueItems: true },
    id: int64,
    x: { type: 'integer' },
  })
  const text = '{"set":[9007199254740992,9007199254740993],"id":9007199254740991,"x":9007199254740991}'
  t.strictSame(await received(schema, text), {
    value: { set: [9007199254740992n, 9007199254740993n], id: 9007199254740991n, x: 9007199254740991 },
  })
})

t.test('names that objects inherit', async (t) => {
  const schema = objectOf({ constructor: int64, toString: int64 })
  const result = await receivedStrictly(schema, '{"constructor":9007199254740993,"toString_str":"6"}')
  t.strictSame(result, { value: { constructor: 9007199254740993n, toString: 6n } })
})
