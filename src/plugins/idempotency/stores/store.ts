/**
 * Stores the keys of requests, and the answers to them. Instances coordinate through the store only: each method is one
 * atomic step. A lease and a retention end by the clock of the store, so that the clocks of the instances do not matter.
 *
 * A method throws, or its promise rejects, if the store cannot be reached; the change may or may not have happened then.
 * `idempotencyStoreContract` of `fastify-conventions/testing` tests a store.
 */
export interface IdempotencyStore {
  /** Whether other processes can use the same store. */
  readonly isShared: boolean
  /**
   * Checks that the store is set up and can be used. Called when the app gets ready.
   * @throws Error that says what to do
   */
  check(): void | Promise<void>
  /**
   * Claims a key for a request, unless a request has it: one that runs and whose lease has not ended, or one whose answer is
   * kept. Of concurrent calls with one key, one claims it.
   *
   * @param lease milliseconds until the key is free again, unless it is renewed
   * @returns `null` if the key is claimed; else the record of the request that has it
   */
  claim(claim: IdempotencyClaim, lease: number): IdempotencyRecord | null | Promise<IdempotencyRecord | null>
  /** Prolongs the lease of a claim. Returns `false` if the key is no longer claimed by it. */
  renew(claim: IdempotencyClaim, lease: number): boolean | Promise<boolean>
  /**
   * Keeps the answer to a request, in place of one that it has kept before. Also after its lease has ended, unless another
   * request has claimed the key since: then nothing changes.
   *
   * @param answer JSON
   * @param keepFor milliseconds until the key is free again
   * @returns whether the answer is kept
   */
  complete(claim: IdempotencyClaim, answer: string, keepFor: number): boolean | Promise<boolean>
  /** Makes the key of a claim free again, unless its answer is kept. */
  release(claim: IdempotencyClaim): void | Promise<void>
  /**
   * Removes at most `limit` records whose time is over. Returns `limit` if there may be more; 0 if the store has nothing to
   * do, because records expire by themselves.
   */
  expire(limit: number): number | Promise<number>
  /**
   * Returns the changes of this store over a connection of the app, as part of its transaction.
   * @default none: answers cannot be kept in a transaction
   */
  within?(connection: object): IdempotencyTransaction
}

/** The change that a store can do in a transaction of the app; it does not wait for {@link IdempotencyStore.renew}. */
export interface IdempotencyTransaction {
  /** Keeps an answer, see {@link IdempotencyStore.complete}. */
  complete(claim: IdempotencyClaim, answer: string, keepFor: number): Promise<boolean>
}

/** The claim of a request to its key. */
export interface IdempotencyClaim {
  /** Digest of the caller and of the key that the caller chose: at most 100 characters of Base64url. */
  readonly key: string
  /** Names the claim: another one for each request. */
  readonly token: string
  /** Digest of the request: at most 100 characters of Base64url. */
  readonly fingerprint: string
}

/** What a store has under a key. */
export interface IdempotencyRecord extends IdempotencyClaim {
  /** The answer as JSON; `null` while the request runs. */
  readonly answer: string | null
}

/** A store is full of requests that run. */
export class IdempotencyStoreFullError extends Error {
  override readonly name = 'IdempotencyStoreFullError'
}
