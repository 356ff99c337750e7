/** Records of operations: what a store may return, ids and progress. */
import t from 'tap'
import {
  finish,
  isOperationId,
  newOperationId,
  type OperationRecord,
  progressOf,
} from '../../../src/plugins/operations/record.js'
import { readAll, recordOf, textOf } from '../../../src/plugins/operations/stores/store.js'
import { begun, claimed, failed, idOf, retention, startTime, sure } from './samples.js'

const ended = sure(finish(begun(), null, failed, startTime, retention))
const stages: readonly OperationRecord[] = [
  begun(),
  begun({ owner: null, access: 'id' }),
  claimed(begun()),
  ended,
]

t.test('a record that a store keeps as JSON is read unchanged, and frozen', async (t) => {
  for (const record of stages) {
    const read = recordOf(textOf(record))
    t.strictSame({ ...read }, { ...record })
    t.ok(Object.isFrozen(read))
  }
})

t.test('a stored value that is no record of this schema is an error, and left out of lists', async (t) => {
  const whole = { ...begun() }
  const rows: readonly (readonly [document: string, message: RegExp])[] = [
    ['{', /JSON/],
    ['{}', /schema undefined; this release reads schema 1/],
    [JSON.stringify({ ...whole, schema: 2 }), /schema 2;/],
    [JSON.stringify({ ...whole, schema: '1' }), /schema "1";/],
  ]
  for (const [document, message] of rows) t.throws(() => recordOf(document), message)
  t.equal(readAll([...rows.map(([document]) => document), textOf(begun())]).length, 1)
})

t.test('progress is the nearest number from 0 to 1; other values are none', async (t) => {
  const rows: readonly (readonly [given: unknown, progress: number | null])[] = [
    [0, 0],
    [0.4, 0.4],
    [1, 1],
    [-1, 0],
    [40, 1],
    [Number.POSITIVE_INFINITY, 1],
    [Number.NEGATIVE_INFINITY, 0],
    [Number.NaN, null],
    ['0.5', null],
    [1n, null],
    [null, null],
    [undefined, null],
    [{ valueOf: () => 1 }, null],
  ]
  for (const [given, progress] of rows) t.equal(progressOf(given), progress)
})

t.test('an id has 128 random bits as hexadecimal digits', async (t) => {
  const ids = new Set(Array.from({ length: 1_000 }, newOperationId))
  t.equal(ids.size, 1_000)
  for (const id of ids) if (!isOperationId(id)) t.fail(id)
  for (let place = 0; place < 32; place += 1) {
    t.equal(new Set([...ids].map((id) => id[place])).size, 16, `digit ${place} takes all values`)
  }
  const others = ['', 'a', idOf(10).toUpperCase(), `${idOf(1)}0`, `${idOf(1)}\n`, 'x'.repeat(10_000)]
  for (const other of others) t.notOk(isOperationId(other), other.slice(0, 40))
})
