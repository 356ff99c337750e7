import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { OperationRecord } from '../operations/operation-record.js'
import { begin, claim, finish, renew } from '../operations/transitions.js'
import { type OperationStore, OperationStoreFullError } from '../stores/operation-store.js'

/** What a contract needs of the store that is put to the test. */
export interface OperationStoreSetUp {
  /** Two views of one new and empty store, as two instances have them: the same store twice where it is not shared. */
  open(): Promise<readonly [OperationStore, OperationStore]>
  /** A new and empty store with room for so many operations; left out where the store is bounded by its server alone. */
  openBounded?(maxOperations: number): Promise<OperationStore>
}

/** One clause of a contract: what is kept, and a check that rejects where it is not. */
export interface ContractClause {
  readonly name: string
  readonly run: () => Promise<void>
}

/**
 * What every {@link OperationStore} keeps, clause by clause, for the runner of your choice:
 *
 * ```ts
 * for (const { name, run } of operationStoreContract({ open })) test(name, run)
 * ```
 *
 * Not for the store in use: it fills and empties it.
 */
export function operationStoreContract(setUp: OperationStoreSetUp): readonly ContractClause[] {
  const clause = (
    name: string,
    check: (one: OperationStore, other: OperationStore) => Promise<void>,
  ): ContractClause => ({ name, run: async () => check(...(await setUp.open())) })

  return [
    clause('a store that was set up is fit for use', async (one, other) => {
      await one.check()
      await other.check()
    }),
    clause('what is not there is null', async (one) => {
      strictEqual(await one.get(randomId()), null)
    }),
    clause('what one puts, the other gets, member by member', async (one, other) => {
      const record = running(started({ input: JSON.stringify({ text: 'Größe “x” \\ \u0000 \ud83d\ude00' }) }))
      strictEqual(await one.create(started({ id: record.id })), true)
      strictEqual(await one.replace(record), true)
      deepStrictEqual({ ...(await other.get(record.id)) }, { ...record })
    }),
    clause('an id is taken once', async (one, other) => {
      const record = started()
      strictEqual(await one.create(record), true)
      strictEqual(await other.create(started({ id: record.id, name: 'another' })), false)
      strictEqual((await one.get(record.id))?.name, record.name)
    }),
    clause('a record follows the version right before it, and no other', async (one, other) => {
      const first = started()
      await one.create(first)
      const second = running(first)
      const third = sure(renew(second, 1, 0.5, time, lease))
      strictEqual(await one.replace(third), false, 'a version was left out')
      strictEqual(await one.replace(second), true)
      strictEqual(await other.replace(second), false, 'the version is there already')
      strictEqual(await other.replace(third), true)
      strictEqual(await one.replace(running(started())), false, 'there is no such operation')
      deepStrictEqual({ ...(await one.get(first.id)) }, { ...third })
    }),
    clause('of many who replace the same version, one does', async (one, other) => {
      const first = started()
      await one.create(first)
      const next = running(first)
      const attempts = Array.from({ length: 40 }, (_, index) => ({ ...next, progress: index / 40 }))
      const done = await Promise.all(
        attempts.map((record, index) => [one, other][index % 2]?.replace(record)),
      )
      strictEqual(done.filter((isDone) => isDone).length, 1)
      strictEqual((await one.get(first.id))?.progress, attempts[done.indexOf(true)]?.progress)
    }),
    clause('only the very version is removed', async (one, other) => {
      const first = started()
      await one.create(first)
      const second = running(first)
      await one.replace(second)
      strictEqual(await other.remove(first), false)
      strictEqual(await other.remove(second), true)
      strictEqual(await one.remove(second), false)
      strictEqual(await one.get(first.id), null)
      deepStrictEqual(await one.due(Number.MAX_SAFE_INTEGER, 10), [])
    }),
    clause(
      'what is in progress is due at its time, that which is due longest first, so many at most',
      async (one, other) => {
        const records = [30, 10, 20, 40].map((dueAt) => started({ dueAt: time + dueAt }))
        for (const record of records) await one.create(record)
        const dueAt = async (until: number, limit: number) =>
          (await other.due(time + until, limit)).map((record) => record.dueAt - time)
        deepStrictEqual(await dueAt(9, 10), [])
        deepStrictEqual(await dueAt(10, 10), [10])
        deepStrictEqual(await dueAt(30, 10), [10, 20, 30])
        deepStrictEqual(await dueAt(30, 2), [10, 20])
        const [due] = await other.due(time + 10, 1)
        deepStrictEqual({ ...due }, { ...records[1] })
      },
    ),
    clause('what was put off, or is final, is not due', async (one, other) => {
      const [ends, goesOn] = [started({ dueAt: time }), started({ dueAt: time })]
      for (const record of [ends, goesOn]) await one.create(record)
      await one.replace(over(ends))
      await one.replace(running(goesOn))
      deepStrictEqual(await other.due(time, 10), [])
      deepStrictEqual(
        (await other.due(time + lease, 10)).map(({ id }) => id),
        [goesOn.id],
      )
    }),
    clause('final records go when their time has come, and no other', async (one, other) => {
      // Far in the past or in the future for a store that goes by a clock of its own.
      const [goes, stays] = [started(), started()]
      for (const record of [goes, stays]) await one.create(record)
      await one.replace({ ...over(goes), dueAt: time + 10 })
      await one.replace({ ...over(stays), dueAt: Date.now() + 3_600_000 })
      await other.expire(time + 10, 10)
      strictEqual(await one.get(goes.id), null)
      strictEqual((await one.get(stays.id))?.status, 'Failed')
      strictEqual(await one.expire(time + 10, 10), 0)
    }),
    clause(
      'no more go at once than are asked for, and what is in progress never does',
      async (one, other) => {
        const records = Array.from({ length: 5 }, () => started({ dueAt: time }))
        for (const record of records) await one.create(record)
        for (const record of records.slice(0, 3)) await one.replace({ ...over(record), dueAt: time })
        const expired = await other.expire(time, 2)
        strictEqual(expired <= 2, true)
        await other.expire(time, 10)
        const left = await Promise.all(records.map(({ id }) => one.get(id)))
        deepStrictEqual(
          left.map((record) => record !== null),
          [false, false, false, true, true],
        )
      },
    ),
    clause('those who listen are told of a cancellation, until they stop', async (one, other) => {
      const [heard, alsoHeard]: [string[], string[]] = [[], []]
      const stop = await one.onCancel((id) => heard.push(id))
      const stopOther = await other.onCancel((id) => alsoHeard.push(id))
      const [first, second] = [randomId(), randomId()]
      await other.announceCancel(first)
      await until(() => heard.includes(first) && alsoHeard.includes(first))
      await stop()
      await other.announceCancel(second)
      await until(() => alsoHeard.includes(second))
      await stopOther()
      deepStrictEqual(heard, [first])
    }),
    ...(setUp.openBounded === undefined ? [] : boundedClauses(setUp.openBounded)),
  ]
}

function boundedClauses(
  openBounded: NonNullable<OperationStoreSetUp['openBounded']>,
): readonly ContractClause[] {
  return [
    {
      name: 'a full store takes no other while all are in progress',
      run: async () => {
        const store = await openBounded(2)
        const records = [started(), started()]
        for (const record of records) await store.create(record)
        await rejects(store.create(started()), OperationStoreFullError)
        for (const { id } of records) strictEqual((await store.get(id))?.id, id)
      },
    },
    {
      name: 'in a full store that goes which ended first',
      run: async () => {
        const store = await openBounded(3)
        const [first, second, third] = [started(), started(), started()]
        for (const record of [first, second, third]) await store.create(record)
        await store.replace(over(second))
        await store.replace(over(first))
        strictEqual(await store.create(started()), true)
        strictEqual(await store.get(second.id), null)
        strictEqual((await store.get(first.id))?.status, 'Failed')
        strictEqual((await store.get(third.id))?.status, 'In progress')
      },
    },
  ]
}

const time = Date.parse('2001-01-01T00:00:00Z')
const lease = 30_000

function started(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = {
    id: randomId(),
    name: 'payments.retry',
    owner: '42',
    input: '{"id":"7"}',
    cancellable: true,
  }
  return { ...begin(operation, time, lease), ...over }
}

function running(record: OperationRecord): OperationRecord {
  return sure(claim(record, time, lease))
}

function over(record: OperationRecord): OperationRecord {
  const error = { code: 'not-retryable', title: 'Not retryable', status: 409, detail: 'it is paid' }
  return sure(finish(record, null, { status: 'Failed', error }, time, 1_000))
}

function sure(record: OperationRecord | null): OperationRecord {
  if (record === null) throw new Error('the contract itself has a fault')
  return record
}

function randomId(): string {
  return randomBytes(16).toString('hex')
}

async function until(isThere: () => boolean): Promise<void> {
  for (let waited = 0; !isThere(); waited += 10) {
    if (waited >= 5_000) throw new Error('what was announced did not arrive within 5 seconds')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
