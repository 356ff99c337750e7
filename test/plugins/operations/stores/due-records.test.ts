import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { DueRecords } from '../../../../src/plugins/operations/stores/due-records.js'
import { begin } from '../../../../src/plugins/operations/transitions.js'

function record(id: string, dueAt: number): OperationRecord {
  return begin(id, { name: 'work', owner: null, input: null, cancellable: true }, 0, dueAt)
}

t.test('records are due in their order, whatever was put, moved and taken away before', async (t) => {
  const id = fc.integer({ min: 0, max: 30 }).map(String)
  const dueAt = fc.nat({ max: 20 })
  const put = fc.record({ id, dueAt: fc.option(dueAt, { freq: 4 }) })
  fc.assert(
    fc.property(fc.array(put, { maxLength: 120 }), dueAt, fc.nat({ max: 40 }), (changes, time, limit) => {
      const records = new DueRecords()
      const expected = new Map<string, OperationRecord>()
      for (const { id, dueAt } of changes) {
        if (dueAt === null) deepStrictEqual(records.delete(id), expected.delete(id))
        else {
          records.put(record(id, dueAt))
          expected.set(id, record(id, dueAt))
        }
      }
      const due = [...expected.values()]
        .filter(({ dueAt }) => dueAt <= time)
        .sort((one, other) => one.dueAt - other.dueAt || (one.id < other.id ? -1 : 1))
        .slice(0, limit)
      deepStrictEqual(records.due(time, limit), due)
      deepStrictEqual(records.due(time, limit), due, 'a look changes nothing')
      deepStrictEqual(records.size, expected.size)
      for (const [id, one] of expected) deepStrictEqual(records.get(id), one)
    }),
  )
  t.pass('for all that was made up')
})

t.test('the oldest is that which came first, whenever it is due', async (t) => {
  const records = new DueRecords()
  records.deleteOldest()
  for (const [id, dueAt] of [
    ['b', 2],
    ['a', 1],
    ['c', 0],
  ] as const)
    records.put(record(id, dueAt))
  records.put(record('b', 5))
  records.deleteOldest()
  t.same(
    records.due(9, 9).map(({ id }) => id),
    ['c', 'a'],
  )
})
