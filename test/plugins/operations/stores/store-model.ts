import { deepStrictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import {
  isFinal,
  type OperationRecord,
  type OperationStatus,
} from '../../../../src/plugins/operations/record.js'
import { memoryOperationStore } from '../../../../src/plugins/operations/stores/memory.js'
import type { OperationStore } from '../../../../src/plugins/operations/stores/store.js'
import { started, time } from './records.js'

/** A call that a test makes up; what its kind has no use for is left aside. */
interface Draft {
  readonly kind: 'create' | 'get' | 'input' | 'replace' | 'remove' | 'takeDue' | 'expire' | 'list'
  /** Which record it is about, or a record of which owner. */
  readonly slot: number
  /** Difference to the stored version. */
  readonly ahead: number
  readonly isFinal: boolean
  /** Until when, or when the record is due. */
  readonly due: number
  readonly limit: number
}

/** A call of a store; resolves with the answer as plain data. */
interface Call {
  readonly name: string
  readonly make: (store: OperationStore) => Promise<unknown>
}

/** Calls that are made at once, each through one of the two views. */
type Batch = readonly (readonly [draft: Draft, view: 0 | 1])[]

const future = Date.now() + 86_400_000
const slots = 3
const owners = ['7', 'ö\u0000', '7']

const draft = (...kinds: Draft['kind'][]): fc.Arbitrary<Draft> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    slot: fc.nat({ max: slots - 1 }),
    ahead: fc.constantFrom(0, 0, 0, -1, 1),
    isFinal: fc.boolean(),
    due: fc.nat({ max: 3 }),
    limit: fc.integer({ min: 1, max: 4 }),
  })
const view = fc.constantFrom(0 as const, 1 as const)
// Calls that read several records promise nothing about concurrent changes.
const batch: fc.Arbitrary<Batch> = fc.oneof(
  fc.tuple(fc.tuple(draft('takeDue', 'takeDue', 'list', 'input'), view)),
  fc.array(fc.tuple(draft('create', 'get', 'replace', 'replace', 'remove', 'expire'), view), {
    minLength: 1,
    maxLength: 3,
  }),
)

/**
 * Makes up calls of two views of a store, some at the same time, and rejects where the answers are not those of the store
 * in memory, asked one after the other in some order.
 *
 * @param isClocked whether the store deletes expired records by a clock of its own
 */
export async function answersAsInMemory(
  open: () => Promise<readonly [OperationStore, OperationStore]>,
  isClocked: boolean,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 5, maxLength: 25 }), async (batches) => {
      const views = await open()
      const ids = Array.from({ length: slots }, () => randomBytes(16).toString('hex'))
      // What may have happened, in which order: several, where the answers do not tell.
      let pasts: readonly (readonly Call[])[] = [[]]
      for (const [number, drafts] of batches.entries()) {
        const there = await (await replay(pasts[0] ?? [], isClocked)).records(ids)
        const calls = drafts.map(([draft], index) => call(draft, ids, there, `${number}-${index}`))
        const answers = await Promise.all(
          calls.map(({ make }, index) => make(views[drafts[index]?.[1] ?? 0])),
        )
        const next = new Map<string, readonly Call[]>()
        const others: unknown[] = []
        for (const past of pasts) {
          for (const order of orders(calls)) {
            const { store, expire, records } = await replay(past, isClocked)
            const expected = new Map<Call, unknown>()
            for (const one of order) {
              expected.set(one, await one.make(store))
              await expire()
            }
            const inMemory = calls.map((one) => expected.get(one))
            if (!isDeepStrictEqual(answers, inMemory)) others.push(inMemory)
            else next.set(JSON.stringify(await records(ids)), [...past, ...order])
          }
        }
        if (next.size === 0) deepStrictEqual(answers, others[0], calls.map(({ name }) => name).join(', '))
        pasts = [...next.values()]
      }
    }),
    { numRuns: 60 },
  )
}

/** Makes up operations of an owner, and rejects if the pages of a list are not those of a sorted array. */
export async function listsAsAnArray(open: () => Promise<OperationStore>): Promise<void> {
  const operation = fc.record({ at: fc.nat({ max: 6 }), isOther: fc.boolean(), isFinal: fc.boolean() })
  const statuses = fc.constantFrom<OperationStatus | undefined>(
    undefined,
    'In progress',
    'Failed',
    'Succeeded',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { maxLength: 30 }),
      statuses,
      fc.integer({ min: 1, max: 7 }),
      async (operations, status, limit) => {
        const store = await open()
        const records: OperationRecord[] = []
        for (const { at, isOther, isFinal } of operations) {
          const first = started({ owner: isOther ? 'other' : '42', createdAt: time + at })
          await store.create(first, null)
          const final = asFinal(first)
          if (isFinal) await store.replace(first, final)
          records.push(isFinal ? final : first)
        }
        const expected = records
          .filter((record) => record.owner === '42' && (status === undefined || record.status === status))
          .sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1))
        const listed: OperationRecord[] = []
        for (let page = [] as readonly OperationRecord[]; ; listed.push(...page)) {
          page = await store.list('42', { status, before: listed.at(-1), limit })
          if (page.length === 0) break
          deepStrictEqual(page.length, Math.min(limit, expected.length - listed.length))
        }
        deepStrictEqual(listed.map(plain), expected.map(plain))
      },
    ),
    { numRuns: 40 },
  )
}

function asFinal(record: OperationRecord): OperationRecord {
  return { ...record, version: 2, status: 'Failed', dueAt: future, goneAt: future }
}

async function replay(past: readonly Call[], isClocked: boolean) {
  const store = memoryOperationStore()
  const expire = async () => {
    if (isClocked) await store.expire(Date.now(), 1_000)
  }
  for (const { make } of past) {
    await make(store)
    await expire()
  }
  const records = (ids: readonly string[]) => Promise.all(ids.map((id) => store.get(id)))
  return { store, expire, records }
}

function call(
  draft: Draft,
  ids: readonly string[],
  there: readonly (OperationRecord | null)[],
  name: string,
): Call {
  const { kind, slot, ahead, due, limit } = draft
  const [until, owner] = [time + due, owners[slot] ?? ''] as const
  if (kind === 'takeDue') {
    const make = async (store: OperationStore) => (await store.takeDue(until, until + 2, limit)).map(plain)
    return { name: `takeDue(${due}, ${limit})`, make }
  }
  if (kind === 'expire') {
    const make = async (store: OperationStore) => void (await store.expire(until, limit))
    return { name: `expire(${due}, ${limit})`, make }
  }
  if (kind === 'list') {
    const before = { createdAt: time + due, id: ids[slot] ?? '' }
    const query = {
      limit,
      ...(draft.isFinal ? {} : { before }),
      ...(ahead === 0 ? { status: 'Failed' as const } : {}),
    }
    return { name: 'list', make: async (store) => (await store.list(owner, query)).map(plain) }
  }
  const id = ids[slot] ?? ''
  if (kind === 'input') return { name: `input(${slot})`, make: (store) => store.input(id) }
  const found = there[slot] ?? null
  const isOver = found !== null && isFinal(found)
  if (kind === 'get' || (kind === 'replace' && isOver)) {
    return { name: `get(${slot})`, make: async (store) => plain(await store.get(id)) }
  }
  const fresh = started({
    id,
    name,
    owner,
    createdAt: time + slot,
    dueAt: until,
  })
  if (kind === 'create') {
    return { name: `create(${slot})`, make: (store) => store.create(fresh, name) }
  }
  const record = found ?? fresh
  const previous = { ...record, version: record.version + ahead }
  if (kind === 'remove') return { name: `remove(${slot}, ${ahead})`, make: (store) => store.remove(previous) }
  const end = { status: 'Failed', dueAt: due === 0 ? future : until, goneAt: until } as const
  const change = draft.isFinal ? end : { dueAt: limit === 1 ? record.dueAt : until }
  const next = { ...previous, name, version: previous.version + 10, ...change }
  return {
    name: `replace(${slot}, ${ahead}${draft.isFinal ? ', final' : ''})`,
    make: (store) => store.replace(previous, next),
  }
}

function plain(record: OperationRecord | null): unknown {
  return record === null ? null : { ...record }
}

function orders<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items]
  return items.flatMap((first) =>
    orders(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
  )
}
