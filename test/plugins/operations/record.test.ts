/** Records of operations: their ids, owners and progress, and what a store may give back. */
import t from 'tap'
import {
  isFinal,
  type OperationRecord,
  ownerText,
  progressOf,
  readRecord,
} from '../../../src/plugins/operations/record.js'
import { claim, finish } from '../../../src/plugins/operations/transitions.js'
import { begun, failed, lease, retention, startTime, sure } from './samples.js'

const stages: readonly OperationRecord[] = [
  begun(),
  begun({ owner: null, input: null }),
  sure(claim(begun(), startTime, lease)),
  sure(finish(begun(), null, failed, startTime, retention)),
]

t.test('what was written as JSON is read as it was, and frozen', async (t) => {
  for (const record of stages) {
    const read = readRecord(JSON.stringify(record))
    t.strictSame({ ...read }, { ...record })
    t.ok(Object.isFrozen(read))
    t.strictSame({ ...readRecord(JSON.parse(JSON.stringify(record))) }, { ...record }, 'also as an object')
  }
})

t.test(
  'a record that does not say when its status changed is read: earlier releases wrote such',
  async (t) => {
    for (const record of stages) {
      const { updatedAt: _, ...earlier } = record
      t.equal(readRecord(JSON.stringify(earlier)).updatedAt, record.finishedAt ?? record.createdAt)
    }
  },
)

t.test('what is no record, or of another release, is refused and says why', async (t) => {
  const whole = { ...begun() }
  const { dueAt: _, ...lacking } = whole
  const rows: readonly (readonly [kept: unknown, message: RegExp])[] = [
    ['{', /another value/],
    ['null', /another value/],
    ['[]', /another value/],
    [null, /another value/],
    [7, /another value/],
    ['{}', /form undefined; this release supports only form 1/],
    [{ ...whole, schema: 2 }, /form 2/],
    [{ ...whole, schema: '1' }, /form 1;/],
    [lacking, /invalid operation/],
    [{ ...whole, status: 'Done' }, /invalid operation/],
    [{ ...whole, version: '1' }, /invalid operation/],
    [{ ...whole, error: 'no' }, /invalid operation/],
    [{ ...whole, progress: '0.5' }, /invalid operation/],
  ]
  for (const [kept, message] of rows) t.throws(() => readRecord(kept), message)
})

t.test('every member is looked at', async (t) => {
  for (const name of Object.keys(begun())) {
    if (name !== 'schema')
      t.throws(() => readRecord({ ...begun(), [name]: Symbol('x') }), /invalid operation/, name)
  }
})

t.test('two of three states are final', async (t) => {
  t.strictSame(stages.map(isFinal), [false, false, false, true])
})

t.test('progress is a number from 0 to 1, the nearest; what is no number says nothing', async (t) => {
  const rows: readonly (readonly [given: unknown, read: number | null])[] = [
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
  for (const [given, read] of rows) t.equal(progressOf(given), read)
})

t.test('an owner is an id as text; nobody is null', async (t) => {
  const rows: readonly (readonly [owner: unknown, kept: string | null])[] = [
    ['ann', 'ann'],
    ['0', '0'],
    [0, '0'],
    [42, '42'],
    [2n ** 63n, '9223372036854775808'],
    [null, null],
    [undefined, null],
  ]
  for (const [owner, kept] of rows) t.equal(ownerText(owner as string), kept)
})

t.test('what is no id is refused: by its text all callers would be one', async (t) => {
  for (const owner of [{}, [], '', Number.NaN, 1.5, 2 ** 53, true, () => 'ann', Symbol('ann')]) {
    t.throws(() => ownerText(owner as unknown as string), { name: 'TypeError', message: /is not an id/ })
  }
})
