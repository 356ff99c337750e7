/** String twins in a body: taken for the integer, alone or beside it; a mismatch is refused. */
import t from 'tap'
import type { ProblemIssue } from '../../../../src/problem/problem-error.js'
import {
  fromInt64,
  int64,
  objectOf,
  type Received,
  received,
  receivedStrictly,
  type Schema,
} from './support.js'

const item = objectOf({ id: int64 }, { additionalProperties: false })
const list = (items: Schema = int64): Schema => ({ type: 'array', items })

const mismatchAt = (pointer: string, name: string): ProblemIssue => ({
  in: 'body',
  pointer,
  message: `must be the same integer as ${name}`,
})
const mismatch = (pointer: string, name: string): Received => ({
  refusal: { kind: 'mismatch', issues: [mismatchAt(pointer, name)] },
})
const invalid = (
  pointer: string,
  message = 'must be the integer as a string of decimal digits',
): Received => ({
  refusal: { kind: 'invalid', issues: [{ in: 'body', pointer, message }] },
})

t.test('the twin alone is the integer', async (t) => {
  t.strictSame(await receivedStrictly(item, '{"id_str":"9007199254740993"}'), {
    value: { id: 9007199254740993n },
  })
  t.strictSame(await receivedStrictly(item, '{"id_str":"5"}'), { value: { id: 5n } })
  t.strictSame(await receivedStrictly(item, '{"id\\u005fstr":"5"}'), { value: { id: 5n } }, 'an escaped name')
  t.strictSame(await receivedStrictly(item, '{"id_str":"-9223372036854775808"}'), {
    value: { id: -9223372036854775808n },
  })
})

t.test('if a client has rounded the number, the twin is used', async (t) => {
  for (const id of ['9007199254740992', '9007199254740993', '9007199254740992.0', '9.007199254740992e15']) {
    const text = `{"id":${id},"id_str":"9007199254740993"}`
    t.strictSame(await receivedStrictly(item, text), { value: { id: 9007199254740993n } }, text)
  }
  t.strictSame(await receivedStrictly(item, '{"id":5,"id_str":"5"}'), { value: { id: 5n } })
  t.strictSame(await received(item, '{"id":"5","id_str":"5"}'), { value: { id: 5n } })
})

t.test('a number that is not rounded as in JavaScript is a mismatch', async (t) => {
  const rows = [
    ['9007199254740993', '9007199254740992'],
    ['9223372036854775806', '9223372036854775807'],
    ['9223372036854775808', '9223372036854775807'],
    ['1.00000000000000000001', '1'],
    ['-0', '0'],
  ]
  for (const [id, twin] of rows) {
    const text = `{"id":${id},"id_str":"${twin}"}`
    const beside = `{"ids":[${id}],"ids_str":["${twin}"]}`
    t.match(await received(item, text), { refusal: { issues: [mismatchAt('/id_str', 'id')] } }, text)
    const lists = objectOf({ ids: list() })
    t.match(await received(lists, beside), { refusal: { issues: [mismatchAt('/ids_str/0', 'ids')] } }, beside)
  }
  const rounded = '{"id":9223372036854776000,"id_str":"9223372036854775807"}'
  const exact = { value: { id: 9223372036854775807n } }
  t.strictSame(await received(item, rounded), exact)
})

t.test('different integers are a mismatch', async (t) => {
  const rows = [
    '{"id":5,"id_str":"6"}',
    '{"id":9007199254740995,"id_str":"9007199254740993"}',
    '{"id":null,"id_str":"5"}',
    '{"id":"five","id_str":"5"}',
    '{"id":{},"id_str":"5"}',
    '{"id":5,"id_str":null}',
    '{"id":9007199254740993,"id_str":null}',
  ]
  for (const text of rows) t.strictSame(await received(item, text), mismatch('/id_str', 'id'), text)
})

t.test('invalid twins are refused', async (t) => {
  for (const twin of [
    '5',
    '9007199254740993',
    'true',
    '{}',
    '""',
    '"x"',
    '"05"',
    '"+5"',
    '"5.0"',
    '" 5"',
    '"-0"',
  ]) {
    t.strictSame(await received(item, `{"id":5,"id_str":${twin}}`), invalid('/id_str'), twin)
    t.strictSame(await received(item, `{"id_str":${twin}}`), invalid('/id_str'), `${twin} alone`)
  }
})

t.test('twins out of range are refused', async (t) => {
  for (const digits of ['9223372036854775808', '9'.repeat(10_000)]) {
    const shown = digits.slice(0, 20)
    t.strictSame(await received(item, `{"id_str":"${digits}"}`), invalid('/id_str', fromInt64), shown)
    t.strictSame(
      await received(item, `{"id":${digits},"id_str":"${digits}"}`),
      invalid('/id_str', fromInt64),
      shown,
    )
  }
})

t.test('twins of arrays, item by item', async (t) => {
  const schema = objectOf({ ids: list() }, { additionalProperties: false })
  const nested = objectOf({ ids: list(list()) }, { additionalProperties: false })
  const exact = [1n, 9007199254740993n]
  const rows: readonly (readonly [schema: Schema, text: string, result: Received])[] = [
    [schema, '{"ids_str":["1","9007199254740993"]}', { value: { ids: exact } }],
    [schema, '{"ids":[1,9007199254740992],"ids_str":["1","9007199254740993"]}', { value: { ids: exact } }],
    [schema, '{"ids":[],"ids_str":[]}', { value: { ids: [] } }],
    [schema, '{"ids_str":[]}', { value: { ids: [] } }],
    [
      nested,
      '{"ids":[[1],[9007199254740992]],"ids_str":[["1"],["9007199254740993"]]}',
      { value: { ids: [[1n], [9007199254740993n]] } },
    ],
    [nested, '{"ids_str":[[],["7"]]}', { value: { ids: [[], [7n]] } }],
    [schema, '{"ids":[1,2],"ids_str":["1"]}', mismatch('/ids_str', 'ids')],
    [schema, '{"ids":[1,2],"ids_str":["1","3"]}', mismatch('/ids_str/1', 'ids')],
    [schema, '{"ids":[1,2],"ids_str":["1",null]}', mismatch('/ids_str/1', 'ids')],
    [schema, '{"ids":5,"ids_str":["5"]}', mismatch('/ids_str', 'ids')],
    [schema, '{"ids":[1],"ids_str":[1]}', invalid('/ids_str/0')],
    [
      schema,
      '{"ids":[9223372036854775808],"ids_str":["9223372036854775808"]}',
      invalid('/ids_str/0', fromInt64),
    ],
    [nested, '{"ids":[[1]],"ids_str":[["2"]]}', mismatch('/ids_str/0/0', 'ids')],
  ]
  for (const [given, text, result] of rows) t.strictSame(await receivedStrictly(given, text), result, text)
})

t.test('null is the twin of a value that is not an integer', async (t) => {
  const nullable = objectOf({ id: { ...int64, nullable: true } }, { additionalProperties: false })
  t.strictSame(await receivedStrictly(nullable, '{"id":null,"id_str":null}'), { value: { id: null } })
  t.strictSame(await receivedStrictly(nullable, '{"id_str":null}'), { value: { id: null } })
  const mixed = objectOf({ ids: list({ anyOf: [int64, { type: 'null' }, { type: 'number' }] }) })
  t.strictSame(await receivedStrictly(mixed, '{"ids":[1,null,1.5],"ids_str":["1",null,null]}'), {
    value: { ids: [1n, null, 1.5] },
  })
})

t.test('a twin has a maximum depth', async (t) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  t.match(await received(objectOf({ ids: list() }), `{"ids_str":${deep}}`), { refusal: { kind: 'invalid' } })
})

t.test('a declared twin is read as a twin, and stays if the schema requires it', async (t) => {
  const text = '{"id":5,"id_str":"5"}'
  const declared = objectOf({ id: int64, id_str: { type: 'string' } })
  t.strictSame(await received(declared, text), { value: { id: 5n } })
  const demanded = { ...declared, required: ['id', 'id_str'] }
  t.strictSame(await received(demanded, text), { value: { id: 5n, id_str: '5' } })
  t.strictSame(await received(demanded, '{"id_str":"5"}'), { value: { id: 5n, id_str: '5' } })
  t.match(await received(demanded, '{"id":5}'), {
    refusal: { issues: [{ pointer: '/id_str', message: 'is required' }] },
  })
})

t.test('a declared 64-bit integer with the name of a twin is not a twin', async (t) => {
  const schema = objectOf({ id: int64, id_str: int64 }, { additionalProperties: false })
  t.strictSame(await receivedStrictly(schema, '{"id":1,"id_str":2,"id_str_str":"2"}'), {
    value: { id: 1n, id_str: 2n },
  })
})

t.test('twins in maps', async (t) => {
  const map = { type: 'object', additionalProperties: int64 }
  const rows: readonly (readonly [text: string, value: unknown])[] = [
    ['{"a":9007199254740992,"a_str":"9007199254740993"}', { a: 9007199254740993n }],
    ['{"a_str":"9007199254740993","a":9007199254740992}', { a: 9007199254740993n }],
    ['{"a_str":"9007199254740993"}', { a: 9007199254740993n }],
    ['{"a_str":7}', { a_str: 7n }],
    ['{"a_str":7,"a_str_str":"7"}', { a_str: 7n }],
    ['{"_str":7}', { _str: 7n }],
  ]
  for (const [text, value] of rows) t.strictSame(await receivedStrictly(map, text), { value }, text)
  t.strictSame(await received(map, '{"a":1,"a_str":"2"}'), mismatch('/a_str', 'a'))
  t.match(await receivedStrictly(map, '{"a":1,"a_str":"x"}'), {
    refusal: { issues: [{ pointer: '/a_str', message: /must be integer/ }] },
  })
  const nullable = { type: 'object', additionalProperties: { ...int64, nullable: true } }
  t.strictSame(await received(nullable, '{"a":null,"a_str":null,"b_str":null}'), {
    value: { a: null, b_str: null },
  })
  const lists = { type: 'object', additionalProperties: list() }
  t.strictSame(await received(lists, '{"a":[1],"a_str":["1"],"b":[],"b_str":[]}'), {
    value: { a: [1n], b: [] },
  })
})

t.test('a member that another alternative declares is not a twin', async (t) => {
  const schema = {
    oneOf: [
      objectOf({ kind: { const: 'number' }, id: int64 }, { required: ['kind', 'id'] }),
      objectOf({ kind: { const: 'text' }, id_str: { type: 'string' } }, { required: ['kind', 'id_str'] }),
    ],
  }
  t.strictSame(await receivedStrictly(schema, '{"kind":"text","id_str":"5"}'), {
    value: { kind: 'text', id_str: '5' },
  })
  const open = { oneOf: [schema.oneOf[0], objectOf({ kind: { const: 'text' } }, { required: ['kind'] })] }
  t.strictSame(await receivedStrictly(open, '{"kind":"text","id_str":"five"}'), {
    value: { kind: 'text', id_str: 'five' },
  })
  t.strictSame(await receivedStrictly(open, '{"kind":"number","id_str":"5"}'), {
    value: { kind: 'number', id: 5n },
  })
})

t.test('undeclared members have no twins', async (t) => {
  const text = '{"id":1,"x":5,"x_str":"6"}'
  t.strictSame(await received(objectOf({ id: int64 }), text), { value: { id: 1n, x: 5, x_str: '6' } })
})
