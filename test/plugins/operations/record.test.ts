/** Records of operations: what a store may return, ids and progress. */
import t from 'tap'
import {
  finish,
  isFinal,
  isGone,
  isOperationId,
  newOperationId,
  type OperationRecord,
} from '../../../src/plugins/operations/record.js'
import { begun, claimed, failed, idOf, retention, startTime, sure } from './samples.js'

const ended = sure(finish(begun(), null, failed, startTime, retention))
const stages: readonly OperationRecord[] = [
  begun(),
  begun({ owner: null, access: 'id' }),
  claimed(begun()),
  ended,
]

t.test('two of three statuses are final; a final operation is gone after its retention', async (t) => {
  t.strictSame(stages.map(isFinal), [false, false, false, true])
  t.notOk(isGone(begun(), Number.MAX_SAFE_INTEGER))
  t.notOk(isGone(ended, startTime + retention - 1))
  t.ok(isGone(ended, startTime + retention))
})

t.test('an id has 128 random bits as hexadecimal digits', async (t) => {
  const ids = new Set(Array.from({ length: 1_000 }, newOperationId))
  t.equal(ids.size, 1_000)
  for (const id of ids) if (!isOperationId(id)) t.fail(id)
  for (let place = 0; place < 32; place += 1) {
    t.equal(new Set([...ids].map((id) => id[place])).size, 16, `digit ${place} takes all values`)
  }
  const others = [
    '',
    'a',
    idOf(10).toUpperCase(),
    `${idOf(1)}0`,
    '__proto__',
    `${idOf(1)}\n`,
    'x'.repeat(10_000),
  ]
  for (const other of others) t.notOk(isOperationId(other), other.slice(0, 40))
})
