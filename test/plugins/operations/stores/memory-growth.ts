// A program: prints what 100,000 operations cost the store in memory. Run it with --expose-gc.
import { randomBytes } from 'node:crypto'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { memoryOperationStore } from '../../../../src/plugins/operations/stores/memory.js'
import type { OperationStore } from '../../../../src/plugins/operations/stores/store.js'
import { begin, claim, finish, renew } from '../../../../src/plugins/operations/transitions.js'

const operations = 100_000
const [lease, retention] = [30_000, 86_400_000]
const start = Date.now()

const store = memoryOperationStore()
const empty = heap()
for (let number = 0; number < operations; number += 1) await store.create(started(number))
const waiting = (heap() - empty) / operations
for (const record of await all()) {
  await next(claim(record, start + 1, lease))
  await next(renew((await store.get(record.id)) ?? record, 1, 0.25, start + 2, lease))
}
const running = (heap() - empty) / operations
const slowdown = (await lookAtDue(store)) / (await lookAtDue(await smallStore()))
for (const record of await all()) {
  const result = JSON.stringify({ sent: true, to: `user-${record.owner}@example.com` })
  await next(
    finish(record, record.run, { status: 'Succeeded', resource: null, result }, start + 3, retention),
  )
}
const final = (heap() - empty) / operations

let expired = 0
for (let gone = 1; gone > 0; expired += gone) gone = await store.expire(start + 3 + 2 * retention, 100)
const left = heap() - empty
console.log(JSON.stringify({ waiting, running, final, expired, left, slowdown }))

function started(number: number): OperationRecord {
  return begin(
    randomBytes(16).toString('hex'),
    {
      name: 'payments.retry',
      owner: String(9_007_199_254_740_993n + BigInt(number)),
      input: JSON.stringify({ payment_id: String(number), retry_reason: 'timeout', force_retry: false }),
      cancellable: true,
    },
    start + (number % 1_000),
    lease,
  )
}

function all(): Promise<readonly OperationRecord[]> {
  return store.due(Number.MAX_SAFE_INTEGER, operations)
}

async function next(record: OperationRecord | null): Promise<void> {
  if (record === null || !(await store.replace(record))) throw new Error('an operation did not go on')
}

async function smallStore(): Promise<OperationStore> {
  const small = memoryOperationStore()
  for (let number = 0; number < 1_000; number += 1) await small.create(started(number))
  return small
}

/** Milliseconds that a look at the first hundred takes: the least of many rounds, so that other processes do not count. */
async function lookAtDue(store: OperationStore): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 50; round += 1) {
    const from = performance.now()
    for (let look = 0; look < 10; look += 1) await store.due(Number.MAX_SAFE_INTEGER, 100)
    least = Math.min(least, performance.now() - from)
  }
  return least
}

function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
