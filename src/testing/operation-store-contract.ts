import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { OperationRecord } from '../plugins/operations/record.js'
import { type OperationStore, OperationStoreFullError } from '../plugins/operations/stores/store.js'
import { begin, claim, finish, type OperationEnd, release, renew } from '../plugins/operations/transitions.js'

/** The options of a contract. */
export interface OperationStoreSetUp {
  /** Opens a new and empty store, and returns it as two instances see it; if it is not shared, the same object twice. */
  open(): Promise<readonly [OperationStore, OperationStore]>
  /**
   * Opens a new and empty store for the given number of operations. Omit it if only the server limits the store.
   * @default none
   */
  openBounded?(maxOperations: number): Promise<OperationStore>
}

/** A clause of a contract: its name, and a test that rejects if the store breaks it. */
export interface ContractClause {
  readonly name: string
  readonly run: () => Promise<void>
}

/**
 * Returns the tests of an {@link OperationStore}, for any test runner:
 *
 * ```ts
 * for (const { name, run } of operationStoreContract({ open })) test(name, run)
 * ```
 *
 * Not for a store in use: the tests add and delete records.
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
      await one.create(started())
      const ids = [randomId(), '', '*', '%', '\u0000', '\ud83d', "'", '{}', '__proto__', 'x'.repeat(10_000)]
      for (const id of ids) strictEqual(await one.get(id), null, JSON.stringify(id))
    }),
    clause('what one puts, the other gets, member by member', async (one, other) => {
      const oddities = 'Größe “x” \\ \u0000 \ud83d\ude00 \ud83d \u2028 {"version":1,'
      const record = started({ owner: oddities, input: JSON.stringify({ text: oddities }) })
      strictEqual(await one.create(record), true)
      deepStrictEqual({ ...(await other.get(record.id)) }, { ...record })
      const isRun = { ...running(record), input: oddities, progress: 1 / 3 }
      strictEqual(await other.replace(isRun), true)
      deepStrictEqual({ ...(await one.get(record.id)) }, { ...isRun })
    }),
    clause('what came of an operation is kept, until its time has come', async (one, other) => {
      const error = {
        code: 'validation',
        title: 'Invalid “input” \u0000',
        status: 400,
        detail: '',
        errors: [{ in: 'body', pointer: '/a~1b', message: 'has to be \ud83d' }],
      } as const
      const ends: readonly OperationEnd[] = [
        { status: 'Failed', error },
        { status: 'Succeeded', resource: '/v1/payments/8?a=%20&b="', result: null },
        { status: 'Succeeded', resource: null, result: '{"id":9007199254740993,"text":"\\u0000"}' },
      ]
      for (const end of ends) {
        const first = started({ owner: null, input: null, cancellable: false })
        const final = { ...sure(finish(first, null, end, time, 1_000)), dueAt: inAnHour() }
        await one.create(first)
        strictEqual(await one.replace(final), true)
        deepStrictEqual({ ...(await other.get(first.id)) }, { ...final })
        strictEqual(await other.remove(final), true)
        strictEqual(await one.get(first.id), null)
      }
    }),
    clause('a large input comes back whole', async (one, other) => {
      const record = started({ input: JSON.stringify('"é\\'.repeat(300_000)) })
      await one.create(record)
      const next = running(record)
      strictEqual(await other.replace(next), true)
      strictEqual((await one.get(record.id))?.input === next.input, true)
    }),
    clause('an id is taken once', async (one, other) => {
      const record = started()
      strictEqual(await one.create(record), true)
      strictEqual(await other.create(started({ id: record.id, name: 'another' })), false)
      strictEqual((await one.get(record.id))?.name, record.name)
      await one.replace({ ...over(record), dueAt: inAnHour() })
      strictEqual(await other.create(started({ id: record.id })), false, 'it is final, and still there')
    }),
    clause('of many who put the same id, one does', async (one, other) => {
      const id = randomId()
      const attempts = Array.from({ length: 40 }, (_, index) => started({ id, name: `attempt-${index}` }))
      const done = await Promise.all(attempts.map((record, index) => [one, other][index % 2]?.create(record)))
      strictEqual(done.filter((isDone) => isDone).length, 1)
      strictEqual((await one.get(id))?.name, attempts[done.indexOf(true)]?.name)
      strictEqual((await other.due(time + lease, 10)).length, 1)
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
    clause('a version is compared as a whole number', async (one, other) => {
      const earlier: OperationRecord[] = []
      let latest = started()
      await one.create(latest)
      while (latest.version < 12) {
        earlier.push(latest)
        latest = { ...running(latest), runUntil: null }
        strictEqual(await other.replace(latest), true, `version ${latest.version}`)
      }
      for (const record of earlier) {
        strictEqual(await one.replace({ ...record, name: 'stale' }), false, `version ${record.version}`)
        strictEqual(await one.remove(record), false, `version ${record.version}`)
      }
      deepStrictEqual({ ...(await one.get(latest.id)) }, latest)
    }),
    clause('of one who replaces a version and one who removes it, one does', async (one, other) => {
      for (let round = 0; round < 20; round += 1) {
        const first = started({ dueAt: time + round })
        await one.create(first)
        const [isReplaced, isRemoved] = await Promise.all([one.replace(running(first)), other.remove(first)])
        strictEqual(isReplaced, !isRemoved)
        strictEqual((await one.get(first.id)) !== null, isReplaced)
      }
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
      strictEqual(await one.create(first), true, 'the id is free again')
      strictEqual((await other.due(Number.MAX_SAFE_INTEGER, 10)).length, 1)
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
    clause('of those due at the same time each is there once', async (one, other) => {
      const records = Array.from({ length: 7 }, () => started({ dueAt: time }))
      for (const record of records) await one.create(record)
      const ids = (await other.due(time, 10)).map(({ id }) => id)
      deepStrictEqual([...ids].sort(), records.map(({ id }) => id).sort())
      deepStrictEqual(
        (await one.due(time, 4)).map(({ id }) => id),
        ids.slice(0, 4),
        'in the same order each time',
      )
    }),
    clause('what was given back is due at once', async (one, other) => {
      const [waits, first] = [started({ dueAt: time + 5 }), started()]
      for (const record of [waits, first]) await one.create(record)
      const runs = running(first)
      await one.replace(runs)
      await one.replace(sure(release(runs, 1, time + 1)))
      deepStrictEqual(
        (await other.due(time + 10, 10)).map(({ id }) => id),
        [first.id, waits.id],
      )
    }),
    clause('what was put off, or is final, is not due, and not in the way of what is', async (one, other) => {
      const [ends, goesOn] = [started({ dueAt: time }), started({ dueAt: time })]
      for (const record of [ends, goesOn]) await one.create(record)
      await one.replace({ ...over(ends), dueAt: inAnHour() })
      await one.replace(running(goesOn))
      deepStrictEqual(await other.due(time, 10), [])
      deepStrictEqual(
        (await other.due(time + lease, 1)).map(({ id }) => id),
        [goesOn.id],
      )
    }),
    clause('final records go when their time has come, and no other', async (one, other) => {
      const [goes, stays] = [started(), started()]
      for (const record of [stays, goes]) await one.create(record)
      // That which ended first need not be the first to go.
      await one.replace({ ...over(stays), dueAt: inAnHour() })
      await one.replace({ ...over(goes), dueAt: time + 10 })
      strictEqual(await other.expire(time + 9, 10), 0)
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
        const there = await Promise.all(records.map(({ id }) => one.get(id)))
        const gone = there.filter((record) => record === null).length
        // A store of which they went by themselves has nothing to say, but says no wrong number.
        strictEqual(expired === (gone === 3 ? 0 : 2), true, `${expired} of ${gone} that went`)
        strictEqual(gone === 3 || gone === 2, true)
        strictEqual(await other.expire(time, 10), 3 - gone)
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
    clause('who stops listening does not stop another who does', async (one, other) => {
      const [heard, alsoHeard]: [string[], string[]] = [[], []]
      const stop = await one.onCancel((id) => heard.push(id))
      const stopOther = await one.onCancel((id) => alsoHeard.push(id))
      const [first, second, third] = [randomId(), randomId(), randomId()]
      await one.announceCancel(first)
      await until(() => heard.includes(first) && alsoHeard.includes(first))
      await stop()
      await stop()
      await other.announceCancel(second)
      await until(() => alsoHeard.includes(second))
      await stopOther()
      strictEqual(heard.includes(second), false)
      await one.announceCancel(third)
      deepStrictEqual(alsoHeard, [first, second])
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
        const [first, second] = [started(), started()]
        for (const record of [first, second]) await store.create(record)
        await rejects(store.create(started()), OperationStoreFullError)
        for (const { id } of [first, second]) strictEqual((await store.get(id))?.id, id)
        await store.remove(first)
        strictEqual(await store.create(started()), true, 'there is room again')
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

/** For a store that uses the clock of its server. */
const inAnHour = () => Date.now() + 3_600_000

function started(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = {
    name: 'payments.retry',
    owner: '42',
    input: '{"id":"7"}',
    cancellable: true,
  }
  return { ...begin(randomId(), operation, time, lease), ...over }
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
