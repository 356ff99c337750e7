import t from 'tap'
import { isFinal, type OperationRecord, readRecord } from '../../../src/plugins/operations/record.js'
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
    ['{', /something else/],
    ['null', /something else/],
    ['[]', /something else/],
    [null, /something else/],
    [7, /something else/],
    ['{}', /form undefined; this release knows form 1 alone/],
    [{ ...whole, schema: 2 }, /form 2/],
    [{ ...whole, schema: '1' }, /form 1;/],
    [lacking, /garbled/],
    [{ ...whole, status: 'Done' }, /garbled/],
    [{ ...whole, version: '1' }, /garbled/],
    [{ ...whole, error: 'no' }, /garbled/],
    [{ ...whole, progress: '0.5' }, /garbled/],
  ]
  for (const [kept, message] of rows) t.throws(() => readRecord(kept), message)
})

t.test('every member is looked at', async (t) => {
  for (const name of Object.keys(begun())) {
    if (name !== 'schema') t.throws(() => readRecord({ ...begun(), [name]: Symbol('x') }), /garbled/, name)
  }
})

t.test('two of three states are final', async (t) => {
  t.strictSame(stages.map(isFinal), [false, false, false, true])
})
