/** Integers of 64 bits in a path or a query: plain decimal digits become the exact BigInt, anything else is refused. */
import t from 'tap'
import { fromUint64, int64, objectOf, receivedText, uint64 } from './support.js'

const notDecimal = 'must be an integer in plain decimal digits'
const invalid = (place: 'query' | 'path', name: string, message: string): object => ({
  refusal: { kind: 'invalid', issues: [{ in: place, name, message }] },
})

t.test('plain decimal digits become an exact BigInt', async (t) => {
  const rows: readonly (readonly [text: string, exact: bigint])[] = [
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['0', 0n],
    ['42', 42n],
    ['-42', -42n],
  ]
  for (const [id, exact] of rows) {
    t.strictSame(await receivedText(objectOf({ id: int64 }), { id }, 'path'), { value: { id: exact } }, id)
  }
  t.strictSame(await receivedText(objectOf({ id: uint64 }), { id: '18446744073709551615' }), {
    value: { id: 18446744073709551615n },
  })
})

t.test('anything else is refused, by name', async (t) => {
  const rows = [
    '007',
    '00',
    '+5',
    '1.0',
    '1.5',
    ' 5',
    '5 ',
    '-0',
    '1e3',
    '0x10',
    '5n',
    '1_000',
    'five',
    '',
    '٥',
    '--5',
    '-',
  ]
  for (const id of rows) {
    const schema = objectOf({ id: int64 })
    for (const part of ['path', 'query'] as const) {
      const refusal = { issues: [{ in: part, name: 'id' }] }
      t.match(await receivedText(schema, { id }, part), { refusal }, JSON.stringify(id))
    }
  }
})

t.test('beyond the range', async (t) => {
  for (const id of [
    '9223372036854775808',
    '-9223372036854775809',
    '18446744073709551616',
    '9'.repeat(10_000),
  ]) {
    const refusal = { issues: [{ in: 'query', name: 'id' }] }
    t.match(await receivedText(objectOf({ id: int64 }), { id }), { refusal }, id.slice(0, 20))
  }
  t.strictSame(await receivedText(objectOf({ id: uint64 }), { id: '-1' }), invalid('query', 'id', fromUint64))
})

t.test('repeated names', async (t) => {
  const schema = objectOf({ ids: { type: 'array', items: int64 }, id: int64 })
  const ids = ['9007199254740993', '7']
  t.strictSame(await receivedText(schema, { ids }), { value: { ids: [9007199254740993n, 7n] } })
  t.strictSame(await receivedText(schema, { ids: '9007199254740993' }), {
    value: { ids: [9007199254740993n] },
  })
  t.strictSame(await receivedText(schema, { id: ['9007199254740993'] }), { value: { id: 9007199254740993n } })
  t.strictSame(await receivedText(schema, { ids: ['7', '07'] }), invalid('query', 'ids', notDecimal))
  t.match(await receivedText(schema, { id: ['7', '8'] }), {
    refusal: { issues: [{ in: 'query', name: 'id' }] },
  })
})

t.test('other types that allow the text', async (t) => {
  const nullable = objectOf({ id: { ...int64, nullable: true } })
  t.strictSame(await receivedText(nullable, { id: '' }), { value: { id: null } })
  t.strictSame(await receivedText(nullable, { id: '7' }), { value: { id: 7n } })
  const named = objectOf({ id: { type: ['integer', 'string'], format: 'int64' } })
  t.strictSame(await receivedText(named, { id: '7' }), { value: { id: '7' } })
  const either = objectOf({ id: { anyOf: [{ type: 'string', enum: ['me'] }, int64] } })
  t.strictSame(await receivedText(either, { id: 'me' }), { value: { id: 'me' } })
  t.strictSame(await receivedText(either, { id: '9007199254740993' }), { value: { id: 9007199254740993n } })
  t.strictSame(await receivedText(either, { id: '07' }), invalid('query', 'id', notDecimal))
  const number = objectOf({ id: { anyOf: [int64, { type: 'number' }] } })
  t.strictSame(await receivedText(number, { id: '1.5' }), { value: { id: 1.5 } })
  t.strictSame(await receivedText(number, { id: '9007199254740993' }), { value: { id: 9007199254740993n } })
})

t.test('undeclared parameters, and defaults', async (t) => {
  const schema = objectOf({
    id: int64,
    limit: { type: 'integer', default: 50 },
    after: { ...int64, default: 7 },
  })
  t.strictSame(await receivedText(schema, { id: '1', x: '9007199254740993' }), {
    value: { id: 1n, x: '9007199254740993', limit: 50, after: 7n },
  })
})

t.test('path and query have no twins', async (t) => {
  t.strictSame(await receivedText(objectOf({ id: int64 }), { id: '1', id_str: '2' }), {
    value: { id: 1n, id_str: '2' },
  })
})
