import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  begin,
  cancel,
  claim,
  finish,
  type OperationEnd,
  type OperationRecord,
  renew,
} from '../plugins/operations/record.js'
import type { OperationStore } from '../plugins/operations/stores/store.js'
import { type Clauses, type ContractClause, clausesOf, onlySuccess } from './contract.js'

/** The options of a contract. */
export interface OperationStoreSetUp {
  /** Opens a new and empty store, and returns it as two instances see it; if it is not shared, the same object twice. */
  open(): Promise<readonly [OperationStore, OperationStore]>
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
  return clausesOf(() => setUp.open(), clauses)
}

const clauses: Clauses<OperationStore> = {
  async 'a store that is set up passes `check`'(one, other) {
    await one.check()
    await other.check()
  },
  async '`get` and `input` return null for an id without a record'(one) {
    await one.create(started(), input)
    const ids = [randomId(), '', '*', '%', '\ud83d', "'", '{}', '__proto__', 'x'.repeat(10_000)]
    for (const id of ids) strictEqual((await one.get(id)) ?? (await one.input(id)), null, JSON.stringify(id))
  },
  async '`create` stores an id once, also while 40 calls try'(one, other) {
    const record = started()
    const winner = await onlySuccess([one, other], (store, number) =>
      store.create({ ...record, name: `attempt-${number}` }, input),
    )
    strictEqual((await one.get(record.id))?.name, `attempt-${winner}`)
    const final = { ...ended(record), dueAt: inAnHour() }
    strictEqual(await other.replace(record, final), true)
    strictEqual(await one.create(record, input), false, 'a final record has the id')
    strictEqual(await one.input(record.id), null, 'and gets no input')
  },
  async '`create` stores one operation in progress of each `onePer`, also while 40 calls try'(one, other) {
    const attempt = (onePer = 'a'.repeat(64)) => started({ onePer })
    const attempts = Array.from({ length: 40 }, () => attempt())
    const winner = await onlySuccess([one, other], (store, number) =>
      store.create(attempts[number] as OperationRecord, input),
    )
    for (const [number, { id }] of attempts.entries()) {
      const isStored = ((await one.get(id)) ?? (await one.input(id))) !== null
      strictEqual(isStored, number === winner, 'of the others, nothing is stored')
    }
    strictEqual((await other.takeDue(always, always, 100)).length, 1)
    strictEqual((await other.list('42', { limit: 100 })).length, 1)
    strictEqual(await other.create(attempt('b'.repeat(64)), null), true, 'another `onePer` is free')
    const first = attempts[winner] as OperationRecord
    const second = running(first)
    await one.replace(first, second)
    strictEqual(await other.create(attempt(), null), false, 'it runs')
    const end = { ...ended(first), version: second.version + 1, dueAt: inAnHour() }
    await one.replace(second, end)
    const [third, last] = [attempt(), attempt()]
    strictEqual(await other.create(third, null), true, 'it has ended')
    strictEqual(await one.remove(end), true)
    strictEqual(
      await one.create(last, null),
      false,
      'the third is in progress, whatever becomes of the first',
    )
    strictEqual(await one.remove(third), true)
    strictEqual(await one.create(last, null), true, 'it was removed')
    same(await other.get(last.id), last)
  },
  async '`replace` stores a version only if the stored version is that of `previous`'(one, other) {
    const [first, numbered] = [started(), { ...started(), version: 123 }]
    await one.create(first, input)
    await one.create(numbered, null)
    const second = running(first)
    const third = renewed(second)
    strictEqual(await one.replace(second, third), false, 'another version is stored')
    strictEqual(await one.replace(first, second), true)
    strictEqual(await other.replace(first, third), false, 'the stored version is later')
    strictEqual(await other.replace(second, third), true)
    strictEqual(await one.replace(started(), second), false, 'there is no such operation, or it is another')
    for (const version of [1, 12, 1_234, 124]) {
      const [other, next] = [{ ...numbered, version }, running(numbered)]
      strictEqual(await one.replace(other, next), false, `version ${version}`)
      strictEqual(await one.remove(other), false, `version ${version}`)
    }
    same(await one.get(first.id), third)
    same(await one.get(numbered.id), numbered)
  },
  async '`replace` succeeds for one of 40 calls with the same `previous`'(one, other) {
    const first = started()
    await one.create(first, null)
    const attempts = Array.from({ length: 40 }, (_, number) => ({ ...running(first), progress: number / 40 }))
    const winner = await onlySuccess([one, other], (store, number) =>
      store.replace(first, attempts[number] as OperationRecord),
    )
    same(await one.get(first.id), attempts[winner])
  },
  async '`replace` leaves the time of the next check where it is if `dueAt` is the same'(one, other) {
    const first = started({ dueAt: time + 10 })
    await one.create(first, null)
    await one.takeDue(time + 10, time + 50, 10)
    const second = sure(cancel(running(first, time + 10), { status: 'Failed', error: failure }, time, 0))
    await one.replace(first, second)
    strictEqual((await other.takeDue(time + 49, time + 60, 10)).length, 0, 'it stays where `takeDue` put it')
    strictEqual((await other.takeDue(time + 50, time + 60, 10)).length, 1)
    await one.replace(second, { ...renewed(second), dueAt: time + 20 })
    strictEqual((await other.takeDue(time + 20, time + 60, 10)).length, 1, 'it moves with `dueAt`')
  },
  async '`remove` removes exactly the given version, and its input'(one, other) {
    const first = started()
    await one.create(first, input)
    const second = running(first)
    await one.replace(first, second)
    strictEqual(await other.remove(first), false)
    strictEqual(await other.remove(second), true)
    strictEqual(await one.remove(second), false)
    strictEqual((await one.get(first.id)) ?? (await one.input(first.id)), null)
    deepStrictEqual(await one.takeDue(always, always, 10), [])
    deepStrictEqual(await one.list('42', { limit: 10 }), [])
    strictEqual(await one.create(first, null), true, 'the id is free again')
    strictEqual((await other.takeDue(always, always, 10)).length, 1)
  },
  async 'of concurrent calls of `replace` and `remove`, one succeeds'(one, other) {
    for (let round = 0; round < 20; round += 1) {
      const first = started()
      await one.create(first, null)
      const [isReplaced, isRemoved] = await Promise.all([
        one.replace(first, running(first)),
        other.remove(first),
      ])
      strictEqual(isReplaced, !isRemoved)
      strictEqual((await one.get(first.id)) !== null, isReplaced)
    }
  },
  async '`takeDue` returns the earliest records that are due, unchanged, and moves their next check'(
    one,
    other,
  ) {
    const records = [30, 10, 20, 40].map((dueAt) => started({ dueAt: time + dueAt }))
    for (const record of records) await one.create(record, null)
    const taken = async (until: number, limit: number) =>
      (await other.takeDue(time + until, time + until + 100, limit)).map(({ dueAt }) => dueAt - time)
    deepStrictEqual(await taken(9, 10), [])
    deepStrictEqual(await taken(30, 2), [10, 20])
    deepStrictEqual(await taken(30, 2), [30])
    deepStrictEqual(await taken(129, 10), [40])
    deepStrictEqual((await taken(130, 10)).sort(), [10, 20, 30])
    for (const record of records) same(await one.get(record.id), record)
  },
  async '`takeDue` gives each of 200 records to one of four concurrent callers'(one, other) {
    const records = Array.from({ length: 200 }, (_, index) => started({ dueAt: time + (index % 7) }))
    await Promise.all(records.map((record) => one.create(record, null)))
    const takeAll = async (store: OperationStore): Promise<readonly OperationRecord[]> => {
      const taken = await store.takeDue(time + 10, time + 1_000, 9)
      strictEqual(taken.length <= 9, true)
      return taken.length === 0 ? [] : [...taken, ...(await takeAll(store))]
    }
    const taken = (await Promise.all([one, other, one, other].map(takeAll))).flat()
    // A caller may find the last records taken by another that has not committed yet.
    taken.push(...(await takeAll(one)))
    deepStrictEqual(idsOf(taken).sort(), idsOf(records).sort())
  },
  async '`expire` removes at most `limit` final records whose time is over'(one, other) {
    const records = Array.from({ length: 5 }, () => started())
    for (const record of records) await one.create(record, null)
    for (const [index, record] of records.slice(0, 4).entries()) {
      await one.replace(record, { ...ended(record), dueAt: index < 3 ? time : inAnHour() })
    }
    const left = async () =>
      (await Promise.all(records.map(({ id }) => one.get(id)))).filter((record) => record !== null)
    strictEqual((await other.expire(time, 2)) <= 2, true)
    // Records may also expire by themselves.
    strictEqual([2, 3].includes((await left()).length), true)
    while ((await other.expire(time, 2)) === 2);
    const expected = idsOf(records.slice(3))
    deepStrictEqual(idsOf(await left()), expected)
    deepStrictEqual(idsOf(await one.list('42', { limit: 10 })).sort(), expected.sort())
  },
  async '`list` returns the operations of an owner by page, the newest first'(one, other) {
    const records = [3, 1, 2, 2, 2, 5].map((at) => started({ createdAt: time + at }))
    for (const record of [...records, started({ owner: '4' }), started({ owner: null })]) {
      await one.create(record, null)
    }
    const [first, second] = records as [OperationRecord, OperationRecord]
    await one.replace(first, { ...ended(first), dueAt: inAnHour() })
    await one.replace(second, running(second))
    const sorted = [...records].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
    const listed: OperationRecord[] = []
    while (listed.length < 6) {
      const page = await other.list('42', { before: listed.at(-1), limit: 2 })
      strictEqual(page.length, 2)
      listed.push(...page)
    }
    deepStrictEqual(idsOf(listed), idsOf(sorted))
    same(
      listed.find(({ id }) => id === first.id),
      await one.get(first.id),
    )
    deepStrictEqual(await other.list('42', { before: sorted[5], limit: 2 }), [])
  },
  async 'what one instance stores, the other gets, member by member'(one, other) {
    const text = 'Größe “x” \\ \u0000 \ud83d\ude00 \ud83d \u2028 {"version":1, "status":"Failed"'
    const long = JSON.stringify(`${text}${'"é\\'.repeat(300_000)}`)
    const record = started({ owner: text, name: text, requestId: text }, long)
    strictEqual(await one.create(record, long), true)
    same(await other.get(record.id), record)
    const next = { ...running(record), progress: 1 / 3 }
    strictEqual(await other.replace(record, next), true)
    same(await one.get(record.id), next)
    strictEqual((await one.input(record.id)) === long, true, 'the input stays as it was')
    const [listed] = await one.list(text, { limit: 2 })
    same(listed, next)
  },
  async 'an end stores resource, result and error, and deletes the input'(one, other) {
    const ends: readonly OperationEnd[] = [
      {
        status: 'Failed',
        error: { ...failure, errors: [{ in: 'body', pointer: '/a~1b', message: '\ud83d' }] },
      },
      { status: 'Succeeded', resource: '/v1/payments/8?a=%20&b="', result: null },
      { status: 'Succeeded', resource: null, result: '{"id":9007199254740993,"text":"\\u0000"}' },
    ]
    for (const end of ends) {
      const first = started({ owner: null })
      await one.create(first, input)
      const final = { ...ended(first, end), goneAt: inAnHour(), dueAt: inAnHour() }
      strictEqual(await one.replace(first, final), true)
      same(await other.get(first.id), final)
      strictEqual(await one.input(first.id), null)
      deepStrictEqual(await other.takeDue(always, always, 10), [])
      strictEqual(await other.remove(final), true)
      strictEqual(await one.get(first.id), null)
    }
  },
  async '`time` goes forward'(one, other) {
    if (one.time === undefined || other.time === undefined) return
    const first = await one.time()
    const second = await other.time()
    strictEqual(Number.isSafeInteger(first) && first > time && second >= first, true, `${first}, ${second}`)
  },
}

const time = Date.parse('2001-01-01T00:00:00Z')
const always = 4_000_000_000_000
const input = '{"id":"7"}'
const failure = {
  code: 'not-retryable',
  title: 'Not “retryable” \u0000',
  status: 409,
  detail: 'it is paid',
} as const

/** For a store that uses the clock of its server. */
const inAnHour = () => Date.now() + 3_600_000

function started(members: Partial<OperationRecord> = {}, its = input): OperationRecord {
  const operation = {
    name: 'payments.retry',
    owner: '42',
    access: 'owner',
    cancellable: true,
    onePer: null,
    priority: 0,
  } as const
  const request = { requestId: null, delay: 0, input: its }
  return { ...begin(randomId(), { ...operation, ...request }, time, time + 1_000), ...members }
}

function running(record: OperationRecord, dueAt = time + 2_000): OperationRecord {
  return sure(claim(record, time, { runUntil: time + 2_000, dueAt, takesOver: false }))
}

function renewed(record: OperationRecord): OperationRecord {
  return sure(renew(record, record.run, 0.5, time, time + 3_000))
}

function ended(
  record: OperationRecord,
  end: OperationEnd = { status: 'Failed', error: failure },
): OperationRecord {
  return sure(finish(record, null, end, time, 1_000))
}

function same(found: OperationRecord | null | undefined, expected: OperationRecord | null | undefined): void {
  deepStrictEqual({ ...found }, { ...expected })
}

function idsOf(records: readonly OperationRecord[]): string[] {
  return records.map(({ id }) => id)
}

function sure<Value>(value: Value | null): Value {
  if (value === null) throw new Error('the contract itself has a fault')
  return value
}

function randomId(): string {
  return randomBytes(16).toString('hex')
}
