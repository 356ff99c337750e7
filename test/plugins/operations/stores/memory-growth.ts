// A program: prints the bytes of heap that each of 100,000 operations takes in the store in memory. Run it with --expose-gc.
import { claim, finish, type OperationRecord, renew } from '../../../../src/plugins/operations/record.js'
import { memoryOperationStore } from '../../../../src/plugins/operations/stores/memory.js'
import { started } from './records.js'

const operations = 100_000
const [lease, retention] = [30_000, 86_400_000]
const start = Date.now()

const store = memoryOperationStore()
const empty = heap()
const ids: string[] = []
for (let number = 0; number < operations; number += 1) {
  const owner = String(9_007_199_254_740_993n + BigInt(number))
  const input = JSON.stringify({ payment_id: String(number), retry_reason: 'timeout', force_retry: false })
  const record = started({ name: 'payments.retry', owner, access: 'owner' })
  await store.create(record, input)
  ids.push(record.id)
}
const waiting = (heap() - empty) / operations
for (const id of ids) {
  const run = { runUntil: start + lease, dueAt: start + lease, takesOver: false }
  await change(id, (record) => claim(record, start + 1, run))
  await change(id, (record) => renew(record, 1, 0.25, start + 2, start + 2 + lease))
}
const running = (heap() - empty) / operations
for (const id of ids) {
  await change(id, (record) => {
    const result = JSON.stringify({ sent: true, to: `user-${record.owner}@example.com` })
    return finish(record, 1, { status: 'Succeeded', resource: null, result }, start + 3, retention)
  })
}
const final = (heap() - empty) / operations

let expired = 0
for (let gone = 1; gone > 0; expired += gone) gone = await store.expire(start + 3 + 2 * retention, 1_000)
ids.length = 0
const left = heap() - empty
console.log(JSON.stringify({ waiting, running, final, expired, left }))

async function change(id: string, step: (record: OperationRecord) => OperationRecord | null): Promise<void> {
  const record = await store.get(id)
  const next = record === null ? null : step(record)
  if (record === null || next === null || !(await store.replace(record, next))) throw new Error('no change')
}

function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
