import { deepStrictEqual, rejects, strictEqual } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { IdempotencyClaim, IdempotencyStore } from '../plugins/idempotency/stores/store.js'
import {
  type Clauses,
  type ContractClause,
  type ContractTransaction,
  clausesOf,
  onlySuccess,
} from './contract.js'

/** The options of a contract. */
export interface IdempotencyStoreSetUp {
  /** Opens a store, and returns it as two instances see it; if it is not shared, the same object twice. */
  open(): Promise<readonly [IdempotencyStore, IdempotencyStore]>
  /**
   * Begins a transaction of the database of the store that was opened last. Omit it if the store takes part in none.
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
 * Tests of times wait some hundredths of a second each, and up to seven seconds if the store answers late. Not for a store in use: the tests add and remove keys.
 */
export function idempotencyStoreContract(setUp: IdempotencyStoreSetUp): readonly ContractClause[] {
  const { transaction } = setUp
  const more = transaction === undefined ? {} : clausesOfTransactions(() => transaction())
  return clausesOf(() => setUp.open(), { ...clauses, ...more })
}

const clauses: Clauses<IdempotencyStore> = {
  async '`claim` gives a key to one request, and its record to the others'(one, other) {
    await one.check()
    const first = claimOf()
    strictEqual(await one.claim(first, long), null)
    await isFound(other, first, null)
    strictEqual(await other.claim(claimOf(), long), null, 'another key is free')
  },
  async 'of 40 concurrent calls, one gets a key that is free or whose lease has ended'(one, other) {
    for (const lease of [null, 1]) {
      const { key } = claimOf()
      if (lease !== null) await one.claim(claimOf(key), lease)
      await later()
      const claims = Array.from({ length: 40 }, () => claimOf(key))
      const winner = await onlySuccess(
        [one, other],
        async (store, number) => (await store.claim(claims[number] as IdempotencyClaim, long)) === null,
      )
      await isFound(one, claims[winner], null)
    }
  },
  async '`complete` keeps an answer character by character, and replaces that of its own claim'(one, other) {
    const claim = claimOf()
    await one.claim(claim, long)
    for (const answer of ['{}', texts, `[${texts}${`,${texts}`.repeat(5_000)}]`]) {
      strictEqual(await other.complete(claim, answer, long), true)
      await isFound(one, claim, answer)
    }
  },
  '`complete` changes nothing if another request has the key': completesLate,
  async 'an answer is kept for its time, also if the lease had ended'(one, other) {
    const claim = claimOf()
    await one.claim(claim, 1)
    await later()
    await other.expire()
    strictEqual(await one.complete(claim, 'late', long), true)
    await isFound(other, claim, 'late')
    await one.complete(claim, 'short', 1)
    await later()
    strictEqual(await other.claim(claimOf(claim.key), long), null)
  },
  async '`renew` prolongs the lease of its own claim, and not the time of an answer'(one, other) {
    const claim = claimOf()
    strictEqual(await one.renew(claim, long), false)
    let isRenewed = false
    // A store that answers after the end of the lease gets a longer one.
    for (const lease of [60, 600, 6_000]) {
      const end = performance.now() + lease
      await one.claim(claim, lease)
      strictEqual(await other.renew(claimOf(claim.key), long), false)
      isRenewed = await one.renew(claim, long)
      const isLate = performance.now() >= end
      await later(lease + 20)
      if (isRenewed || !isLate) break
    }
    strictEqual(isRenewed, true)
    await isFound(other, claim, null)
    await one.complete(claim, 'kept', long)
    strictEqual(await one.renew(claim, 1), false)
    await later()
    await isFound(one, claim, 'kept')
  },
  async '`release` makes the key of its own claim free, and leaves an answer'(one, other) {
    const first = claimOf()
    await one.claim(first, long)
    await other.release(claimOf(first.key))
    await isFound(one, first, null)
    await other.release(first)
    const second = claimOf(first.key)
    strictEqual(await one.claim(second, long), null)
    await one.complete(second, 'kept', long)
    await one.release(second)
    await isFound(other, second, 'kept')
  },
}

async function completesLate(one: IdempotencyStore, other: IdempotencyStore, connection?: object) {
  const first = claimOf()
  await one.claim(first, 1)
  await later()
  const second = claimOf(first.key)
  strictEqual(await other.claim(second, long), null)
  strictEqual(await one.complete(first, 'late', long, connection), false)
  await isFound(one, second, null)
  if (connection !== undefined) return
  await other.complete(second, 'kept', long)
  strictEqual(await one.complete(first, 'late', long), false)
  await isFound(one, second, 'kept')
}

function clausesOfTransactions(begin: () => Promise<ContractTransaction>): Clauses<IdempotencyStore> {
  return {
    async 'an answer belongs to the transaction of the app, and no step waits for that'(one, other) {
      for (const how of ['ROLLBACK', 'COMMIT'] as const) {
        const claim = claimOf()
        await one.claim(claim, 1)
        const { connection, end } = await begin()
        strictEqual(await one.complete(claim, 'kept', long, connection), true)
        await later()
        strictEqual((await other.claim(claimOf(claim.key), long))?.answer, null, 'its lease has ended')
        await one.renew(claim, 1)
        await one.release(claim)
        await other.expire()
        await end(how)
        const found = await other.claim(claimOf(claim.key), long)
        strictEqual(found?.answer, how === 'COMMIT' ? 'kept' : undefined)
      }
    },
    async 'in a transaction, a claim that another request has taken over is refused'(one, other) {
      const { connection, end } = await begin()
      await completesLate(one, other, connection)
      await end('COMMIT')
      await rejects(async () => one.complete(claimOf(), 'late', long, {}), TypeError)
    },
  }
}

/** Milliseconds: longer than all tests. */
const long = 3_600_000

const texts = JSON.stringify('Größe “x” \\ \u0000 \ud83d\ude00 \ud83d \u2028 {"form":1} \r\n')

function claimOf(key = randomId()): IdempotencyClaim {
  return { key, caller: null, token: randomId(), fingerprint: randomId() }
}

function randomId(): string {
  return randomBytes(32).toString('base64url')
}

/** Checks what another request with the key of a claim finds. */
async function isFound(store: IdempotencyStore, claim: IdempotencyClaim | undefined, answer: string | null) {
  const found = await store.claim(claimOf(claim?.key), long)
  deepStrictEqual([found?.fingerprint, found?.answer], [claim?.fingerprint, answer])
}

/** Waits until a time of the store of one millisecond is over. */
const later = (milliseconds = 20): Promise<void> => setTimeout(milliseconds)
