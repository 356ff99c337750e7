import { deepStrictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { memoryOperationStore } from '../../../../src/plugins/operations/stores/memory.js'
import type { OperationStore } from '../../../../src/plugins/operations/stores/store.js'
import { begin } from '../../../../src/plugins/operations/transitions.js'

/** A call that a test makes up; what its kind has no use for is left aside. */
interface Draft {
  readonly kind: 'create' | 'get' | 'replace' | 'remove' | 'due' | 'expire'
  /** Which record it is about. */
  readonly slot: number
  /** Its version, in steps from the one that it ought to have. */
  readonly ahead: number
  readonly isFinal: boolean
  /** Until when, or when the record is due. */
  readonly due: number
  readonly limit: number
}

/** A call, as it is made of a store; resolves with what it answered, as plain data. */
interface Call {
  readonly name: string
  readonly make: (store: OperationStore) => Promise<unknown>
}

/** Calls that are made at once, each through one of the two views. */
type Batch = readonly (readonly [draft: Draft, view: 0 | 1])[]

const time = Date.parse('2001-01-01T00:00:00Z')
const future = Date.now() + 86_400_000
const slots = 3

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
// A look at what is due promises nothing about what changes at that very time.
const batch: fc.Arbitrary<Batch> = fc.oneof(
  fc.tuple(fc.tuple(draft('due'), view)),
  fc.array(fc.tuple(draft('create', 'get', 'replace', 'replace', 'remove', 'expire'), view), {
    minLength: 1,
    maxLength: 3,
  }),
)

/**
 * Makes up calls of two views of a store, some at the same time, and rejects where the answers are not those of the store
 * in memory, asked one after the other in some order.
 *
 * @param isClocked does the store take away by a clock of its own what has had its time?
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
  { kind, slot, ahead, isFinal, due, limit }: Draft,
  ids: readonly string[],
  there: readonly (OperationRecord | null)[],
  name: string,
): Call {
  if (kind === 'due' || kind === 'expire') {
    const until = time + due
    return {
      name: `${kind}(${due}, ${limit})`,
      make: async (store) =>
        kind === 'due' ? (await store.due(until, limit)).map(plain) : store.expire(until, limit),
    }
  }
  const id = ids[slot] ?? ''
  if (kind === 'get') return { name: `get(${slot})`, make: async (store) => plain(await store.get(id)) }
  const fresh = begin(id, { name, owner: null, input: null, cancellable: true }, time, due)
  if (kind === 'create') return { name: `create(${slot})`, make: (store) => store.create(fresh) }
  const version = (there[slot]?.version ?? 0) + (kind === 'replace' ? 1 : 0) + ahead
  const end = isFinal ? { status: 'Failed' as const, dueAt: due === 0 ? future : time + due } : {}
  return {
    name: `${kind}(${slot}, version ${version}${isFinal ? ', final' : ''})`,
    make: (store) => store[kind]({ ...fresh, version, ...end }),
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
