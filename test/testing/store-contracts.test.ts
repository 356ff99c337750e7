import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { memoryIdempotency } from '../../src/plugins/idempotency/stores/memory.js'
import type { IdempotencyClaim, IdempotencyStore } from '../../src/plugins/idempotency/stores/store.js'
import { memoryOperationStore } from '../../src/plugins/operations/stores/memory.js'
import type { OperationStore } from '../../src/plugins/operations/stores/store.js'
import type { ContractClause } from '../../src/testing/contract.js'
import { idempotencyStoreContract } from '../../src/testing/idempotency-store-contract.js'
import { operationStoreContract } from '../../src/testing/operation-store-contract.js'

/** What a store does in place of what its contract says. */
type Defects<Store> = Readonly<Record<string, (store: Store) => Partial<Store>>>

/** Returns a function that tells whether it gets a value for the first time. */
function firstTimes(): (value: string) => boolean {
  const seen = new Set<string>()
  return (value) => {
    const { size } = seen
    return seen.add(value).size > size
  }
}

const defectsOfKeys: Defects<IdempotencyStore> = {
  'check rejects': () => ({ check: () => Promise.reject(new Error('no table')) }),
  'claim gives a key to all': () => ({ claim: () => null }),
  'claim gives a key to two calls at once': (store) => {
    const seen = new Set<string>()
    const claim = async (claim: IdempotencyClaim, lease: number) => {
      const isTaken = seen.has(claim.key)
      await setTimeout(1)
      seen.add(claim.key)
      const found = await store.claim(claim, lease)
      return isTaken ? found : null
    }
    return { claim }
  },
  'a lease never ends': (store) => ({ claim: (claim) => store.claim(claim, 1e9) }),
  'complete changes the answer': (store) => ({
    complete: (claim, answer, keepFor) => store.complete(claim, answer.normalize('NFD'), keepFor),
  }),
  'complete shortens the answer': (store) => ({
    complete: (claim, answer, keepFor) => store.complete(claim, answer.slice(0, 65_536), keepFor),
  }),
  'complete keeps the first answer': (store) => {
    const isFirst = firstTimes()
    return { complete: (claim, ...rest) => !isFirst(claim.key) || store.complete(claim, ...rest) }
  },
  'complete keeps the answer for ever': (store) => ({
    complete: (claim, answer) => store.complete(claim, answer, 1e9),
  }),
  'complete needs the lease': (store) =>
    withLeft(store, (left) => ({
      complete: (claim, ...rest) => left(claim) > 0 && store.complete(claim, ...rest),
    })),
  'complete replaces the answer of another claim': (store) =>
    asOwner(store, (owner) => ({ complete: (claim, ...rest) => store.complete(owner(claim), ...rest) })),
  'renew says that the claim is lost': (store) => ({
    renew: async (claim, lease) => (await store.renew(claim, lease)) && false,
  }),
  'renew leaves the lease': (store) =>
    withLeft(store, (left) => ({ renew: (claim) => store.renew(claim, left(claim)) })),
  'renew prolongs the lease of another claim': (store) =>
    asOwner(store, (owner) => ({ renew: (claim, lease) => store.renew(owner(claim), lease) })),
  'renew shortens the time of an answer': (store) => {
    const answers = new Map<string, string>()
    return {
      complete: (claim, answer, keepFor) => {
        answers.set(claim.key, answer)
        return store.complete(claim, answer, keepFor)
      },
      renew: (claim, lease) => {
        const answer = answers.get(claim.key)
        return answer === undefined ? store.renew(claim, lease) : store.complete(claim, answer, lease)
      },
    }
  },
  'release leaves the key': () => ({ release: () => {} }),
  'release removes an answer': (store) => ({ release: (claim) => void store.complete(claim, '', 0) }),
  'release makes the key of another claim free': (store) =>
    asOwner(store, (owner) => ({ release: (claim) => store.release(owner(claim)) })),
}

/** Returns a store that knows which claim has a key, and with `owner` lets other claims do what that one may. */
function asOwner(
  store: IdempotencyStore,
  defect: (owner: (claim: IdempotencyClaim) => IdempotencyClaim) => Partial<IdempotencyStore>,
): Partial<IdempotencyStore> {
  const owners = new Map<string, IdempotencyClaim>()
  const claim = async (claim: IdempotencyClaim, lease: number) => {
    const found = await store.claim(claim, lease)
    if (found === null) owners.set(claim.key, claim)
    return found
  }
  return { claim, ...defect((claim) => owners.get(claim.key) ?? claim) }
}

/** Returns a store that knows how many milliseconds are left of the first lease of a claim. */
function withLeft(
  store: IdempotencyStore,
  defect: (left: (claim: IdempotencyClaim) => number) => Partial<IdempotencyStore>,
): Partial<IdempotencyStore> {
  const ends = new Map<string, number>()
  const claim = (claim: IdempotencyClaim, lease: number) => {
    ends.set(claim.token, performance.now() + lease)
    return store.claim(claim, lease)
  }
  return { claim, ...defect(({ token }) => (ends.get(token) ?? 0) - performance.now()) }
}

const defectsOfOperations: Defects<OperationStore> = {
  'check rejects': () => ({ check: () => Promise.reject(new Error('no table')) }),
  'create stores an id twice': (store) => ({
    create: async (record, input) => (await store.create(record, input)) || true,
  }),
  'create stores two operations of one `onePer`': (store) => ({
    create: (record, input) => store.create({ ...record, onePer: null }, input),
  }),
  'the end of an operation leaves its `onePer`': (store) => {
    const isFirst = firstTimes()
    const isFree = (onePer: string | null) => onePer === null || isFirst(onePer)
    return { create: async (record, input) => isFree(record.onePer) && store.create(record, input) }
  },
  'get loses a member': (store) => ({
    get: async (id) => {
      const found = await store.get(id)
      return found && { ...found, requestId: null }
    },
  }),
  'input is changed': (store) => ({ input: async (id) => (await store.input(id))?.normalize('NFD') ?? null }),
  'an end leaves the input': (store) => {
    const inputs = new Map<string, string | null>()
    return {
      create: (record, input) => {
        inputs.set(record.id, input)
        return store.create(record, input)
      },
      input: async (id) => inputs.get(id) ?? null,
    }
  },
  'replace stores over any version': (store) => ({
    replace: async ({ id }, next) => {
      const stored = await store.get(id)
      return stored !== null && store.replace(stored, next)
    },
  }),
  'replace stores over the same version twice': (store) => ({
    replace: async (previous, next) => {
      const isSame = (await store.get(previous.id))?.version === previous.version
      await setTimeout(1)
      const stored = await store.get(previous.id)
      return isSame && stored !== null && store.replace(stored, next)
    },
  }),
  'replace always moves the next check': (store) => ({
    replace: (previous, next) => store.replace({ ...previous, dueAt: -1 }, next),
  }),
  'replace never moves the next check': (store) => ({
    replace: (previous, next) => store.replace({ ...previous, dueAt: next.dueAt }, next),
  }),
  'remove removes any version': (store) => ({
    remove: async ({ id }) => {
      const stored = await store.get(id)
      return stored !== null && store.remove(stored)
    },
  }),
  'remove leaves the record': () => ({ remove: async () => true }),
  'takeDue leaves the next check': (store) => ({
    takeDue: (time, _until, limit) => store.takeDue(time, time, limit),
  }),
  'takeDue returns the latest first': (store) => ({
    takeDue: async (...args) => [...(await store.takeDue(...args))].reverse(),
  }),
  'takeDue returns too many': (store) => ({
    takeDue: (time, until, limit) => store.takeDue(time, until, limit + 1),
  }),
  'takeDue returns what is not due': (store) => ({
    takeDue: (time, until, limit) => store.takeDue(time + 1, until, limit),
  }),
  'expire removes what is kept': (store) => ({ expire: (_time, limit) => store.expire(1e15, limit) }),
  'expire removes nothing': () => ({ expire: async () => 0 }),
  'list returns the oldest first': (store) => ({
    list: async (...args) => [...(await store.list(...args))].reverse(),
  }),
  'list returns the first page again': (store) => ({
    list: (owner, { limit }) => store.list(owner, { limit }),
  }),
  'list returns too many': (store) => ({
    list: (owner, page) => store.list(owner, { ...page, limit: page.limit + 1 }),
  }),
  'list returns those of all': (store) => ({
    create: (record, input) => store.create({ ...record, owner: '42' }, input),
  }),
  'time goes back': () => {
    let time = Date.now()
    return { time: async () => time-- }
  },
}

async function isFound(contract: readonly ContractClause[]): Promise<boolean> {
  for (const { run } of contract) {
    const isKept = await run().then(
      () => true,
      () => false,
    )
    if (!isKept) return true
  }
  return false
}

/** Checks that the contract of a store finds each defect. */
function finds<Store extends object>(
  defects: Defects<Store>,
  newStore: () => Store,
  contractOf: (setUp: { open(): Promise<readonly [Store, Store]> }) => readonly ContractClause[],
): void {
  t.test(`${contractOf.name} finds each defect of a store`, async (t) => {
    for (const [defect, of] of Object.entries(defects)) {
      const open = async () => {
        const sound = newStore()
        const store = { ...sound, ...of(sound) }
        return [store, store] as const
      }
      t.ok(await isFound(contractOf({ open })), defect)
    }
  })
}

finds(defectsOfKeys, memoryIdempotency, idempotencyStoreContract)
finds(defectsOfOperations, memoryOperationStore, operationStoreContract)
