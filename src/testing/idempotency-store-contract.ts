import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type {
  IdempotencyClaim,
  IdempotencyRecord,
  IdempotencyStore,
} from '../plugins/idempotency/stores/store.js'
import type { ContractClause, ContractTransaction } from './operation-store-contract.js'

/** The options of a contract. */
export interface IdempotencyStoreSetUp {
  /** Opens a store, and returns it as two instances see it; if it is not shared, the same object twice. */
  open(): Promise<readonly [IdempotencyStore, IdempotencyStore]>
  /**
   * Begins a transaction of the database of the store that was opened last. Omit it if the store has no `within`.
   * @default none
   */
  transaction?(): Promise<ContractTransaction>
}

/**
 * Returns the tests of an {@link IdempotencyStore}, for any test runner:
 *
 * ```ts
 * for (const { name, run } of idempotencyStoreContract({ open })) test(name, run)
 * ```
 *
 * Tests of times wait until they are over by the clock of the store, some tenths of a second each. Not for a store in use: the
 * tests add and remove keys.
 */
export function idempotencyStoreContract(setUp: IdempotencyStoreSetUp): readonly ContractClause[] {
  const { transaction } = setUp
  const all = { ...clauses, ...(transaction === undefined ? {} : clausesOfTransactions(() => transaction())) }
  return Object.entries(all).map(([name, check]) => ({
    name,
    run: async () => check(...(await setUp.open())),
  }))
}

type Clause = (one: IdempotencyStore, other: IdempotencyStore) => Promise<void>

const clauses: Readonly<Record<string, Clause>> = {
  async 'a store that is set up passes `check`'(one, other) {
    await one.check()
    await other.check()
  },
  async '`claim` gives a key to one request, and its record to the others'(one, other) {
    const first = claimOf()
    strictEqual(await one.claim(first, long), null)
    const second = { ...claimOf(), key: first.key }
    same(await other.claim(second, long), { ...first, answer: null })
    same(await one.claim(first, long), { ...first, answer: null })
    strictEqual(await other.claim(claimOf(), long), null, 'another key is free')
  },
  async '`claim` gives a key to one of 40 concurrent calls'(one, other) {
    for (let round = 0; round < 5; round += 1) {
      const { key } = claimOf()
      const claims = Array.from({ length: 40 }, () => ({ ...claimOf(), key }))
      const found = await Promise.all(
        claims.map((claim, index) => (index % 2 === 0 ? one : other).claim(claim, long)),
      )
      const winners = claims.filter((_, index) => found[index] === null)
      strictEqual(winners.length, 1)
      for (const record of found) if (record !== null) strictEqual(record.token, winners[0]?.token)
    }
  },
  async 'a key whose lease has ended is given to one of 20 concurrent calls'(one, other) {
    const dead = claimOf()
    await one.claim(dead, 1)
    await isOver()
    const claims = Array.from({ length: 20 }, () => ({ ...claimOf(), key: dead.key }))
    const found = await Promise.all(
      claims.map((claim, index) => (index % 2 === 0 ? one : other).claim(claim, long)),
    )
    strictEqual(found.filter((record) => record === null).length, 1)
    for (const record of found) if (record !== null) strictEqual(record.token === dead.token, false)
  },
  async '`complete` keeps an answer, character by character'(one, other) {
    for (const answer of ['{}', texts, `[${texts}${`,${texts}`.repeat(5_000)}]`]) {
      const claim = claimOf()
      await one.claim(claim, long)
      strictEqual(await one.complete(claim, answer, long), true)
      same(await other.claim({ ...claimOf(), key: claim.key }, long), { ...claim, answer })
    }
  },
  async '`complete` replaces the answer of its own claim'(one, other) {
    const claim = claimOf()
    await one.claim(claim, long)
    await one.complete(claim, 'first', long)
    strictEqual(await other.complete(claim, 'second', long), true)
    same(await one.claim(claimOf(claim.key), long), { ...claim, answer: 'second' })
  },
  async '`complete` changes nothing if another request has the key'(one, other) {
    const first = claimOf()
    await one.claim(first, 1)
    await isOver()
    const second = claimOf(first.key)
    strictEqual(await other.claim(second, long), null)
    strictEqual(await one.complete(first, 'late', long), false)
    same(await one.claim(claimOf(first.key), long), { ...second, answer: null })
    await other.complete(second, 'kept', long)
    strictEqual(await one.complete(first, 'late', long), false)
    same(await one.claim(claimOf(first.key), long), { ...second, answer: 'kept' })
  },
  async '`complete` keeps the answer of a claim whose lease has ended, if no other has the key'(one, other) {
    const claim = claimOf()
    await one.claim(claim, 1)
    await isOver()
    while ((await other.expire(100)) === 100);
    strictEqual(await one.complete(claim, 'late', long), true)
    same(await other.claim(claimOf(claim.key), long), { ...claim, answer: 'late' })
  },
  async 'an answer is kept for its time, and its key is free after it'(one, other) {
    const [short, kept] = [claimOf(), claimOf()]
    for (const claim of [short, kept]) await one.claim(claim, long)
    await one.complete(short, 'short', 1)
    await one.complete(kept, 'kept', long)
    await isOver()
    strictEqual(await other.claim(claimOf(short.key), long), null)
    same(await other.claim(claimOf(kept.key), long), { ...kept, answer: 'kept' })
  },
  async '`renew` prolongs a lease'(one, other) {
    const claim = claimOf()
    await one.claim(claim, 60)
    strictEqual(await one.renew(claim, long), true)
    await isOver(80)
    same(await other.claim(claimOf(claim.key), long), { ...claim, answer: null })
  },
  async '`renew` returns false for a key of another request, and for one with an answer'(one, other) {
    const first = claimOf()
    strictEqual(await one.renew(first, long), false)
    await one.claim(first, long)
    const second = claimOf(first.key)
    strictEqual(await other.renew(second, long), false)
    await one.complete(first, 'kept', long)
    strictEqual(await one.renew(first, 1), false)
    await isOver()
    same(await one.claim(second, long), { ...first, answer: 'kept' }, 'the answer is kept as long as before')
  },
  async '`release` makes the key of its own claim free'(one, other) {
    const first = claimOf()
    await one.claim(first, long)
    await other.release(claimOf(first.key))
    same(await one.claim(claimOf(first.key), long), { ...first, answer: null })
    await other.release(first)
    strictEqual(await one.claim(claimOf(first.key), long), null)
    await other.release(claimOf())
  },
  async '`release` leaves an answer'(one, other) {
    const claim = claimOf()
    await one.claim(claim, long)
    await one.complete(claim, 'kept', long)
    await other.release(claim)
    same(await other.claim(claimOf(claim.key), long), { ...claim, answer: 'kept' })
  },
  async '`expire` removes what is over, at most `limit`, and nothing else'(one, other) {
    const over = Array.from({ length: 5 }, () => claimOf())
    for (const claim of over) await one.claim(claim, 1)
    const [running, kept] = [claimOf(), claimOf()]
    for (const claim of [running, kept]) await one.claim(claim, long)
    await one.complete(kept, 'kept', long)
    await isOver()
    strictEqual((await other.expire(2)) <= 2, true)
    while ((await other.expire(2)) === 2);
    same(await other.claim(claimOf(running.key), long), { ...running, answer: null })
    same(await other.claim(claimOf(kept.key), long), { ...kept, answer: 'kept' })
    for (const { key } of over) strictEqual(await other.claim(claimOf(key), long), null)
  },
}

function clausesOfTransactions(
  transaction: () => Promise<ContractTransaction>,
): Readonly<Record<string, Clause>> {
  return {
    async '`within`: an answer belongs to the transaction of the app'(one, other) {
      for (const how of ['ROLLBACK', 'COMMIT'] as const) {
        const claim = claimOf()
        await one.claim(claim, long)
        const { connection, end } = await transaction()
        strictEqual(await one.within?.(connection).complete(claim, 'kept', long), true)
        same(await other.claim(claimOf(claim.key), long), { ...claim, answer: null }, 'before the end')
        await end(how)
        const answer = how === 'COMMIT' ? 'kept' : null
        same(await other.claim(claimOf(claim.key), long), { ...claim, answer }, how)
        await one.release(claim)
        strictEqual(
          (await other.claim(claimOf(claim.key), long)) === null,
          answer === null,
          `${how}, released`,
        )
      }
    },
    async '`within`: no step waits for a transaction that is open, and none takes its key'(one, other) {
      const claim = claimOf()
      await one.claim(claim, 1)
      const { connection, end } = await transaction()
      strictEqual(await one.within?.(connection).complete(claim, 'kept', long), true)
      await isOver()
      same(await other.claim(claimOf(claim.key), long), { ...claim, answer: null }, 'its lease has ended')
      await one.renew(claim, 1)
      await one.release(claim)
      await other.expire(100)
      await end('COMMIT')
      same(await other.claim(claimOf(claim.key), long), { ...claim, answer: 'kept' })
    },
    async '`within`: a claim that another request has taken over is refused'(one, other) {
      const first = claimOf()
      await one.claim(first, 1)
      await isOver()
      const second = claimOf(first.key)
      await other.claim(second, long)
      const { connection, end } = await transaction()
      strictEqual(await one.within?.(connection).complete(first, 'late', long), false)
      await end('COMMIT')
      same(await one.claim(claimOf(first.key), long), { ...second, answer: null })
    },
    async '`within` throws for a value that is not a connection'(one) {
      await rejects(async () => one.within?.({}), TypeError)
    },
  }
}

/** Milliseconds: longer than all tests. */
const long = 3_600_000

const texts = JSON.stringify('Größe “x” \\ \u0000 \ud83d\ude00 \ud83d \u2028 {"form":1} \r\n')

function claimOf(key = randomId()): IdempotencyClaim {
  return { key, token: randomId(), fingerprint: randomId() }
}

function same(found: IdempotencyRecord | null, expected: IdempotencyRecord, message?: string): void {
  const plain = found && { key: found.key, token: found.token, fingerprint: found.fingerprint }
  deepStrictEqual(plain && { ...plain, answer: found.answer }, expected, message)
}

function randomId(): string {
  return randomBytes(32).toString('base64url')
}

/** Waits until a time of the store of one millisecond is over. */
async function isOver(milliseconds = 20): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}
