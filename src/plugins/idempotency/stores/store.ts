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
   * Whether {@link complete} takes part in transactions of the app.
   * @default false
   */
  readonly isTransactional?: boolean
  /**
   * Checks that the store is set up and can be used. Called when the app gets ready.
   * @throws Error that says what to do
   */
  check(): void | Promise<void>
  /**
   * Claims a key for a request, unless a request has it: one that runs and whose lease has not ended, or one whose answer is
   * kept. Of concurrent calls with one key, one claims it. A bounded store gives each caller a share: it removes no answer of
   * another one who has less.
   *
   * @param lease milliseconds until the key is free again, unless it is renewed
   * @returns `null` if the key is claimed; else the record of the request that has it
   */
  claim(claim: IdempotencyClaim, lease: number): IdempotencyRecord | null | Promise<IdempotencyRecord | null>
  /** Prolongs the lease of a claim. Returns `false` if the claim has lost its key. */
  renew(claim: IdempotencyClaim, lease: number): boolean | Promise<boolean>
  /**
   * Keeps the answer to a request, in place of one that it has kept before. Also after its lease has ended, unless another
   * request has claimed the key since: then nothing changes.
   *
   * @param answer JSON
   * @param keepFor milliseconds until the key is free again
   * @param connection with a transaction of the app, whose part it is
   * @returns whether the answer is kept
   */
  complete(
    claim: IdempotencyClaim,
    answer: string,
    keepFor: number,
    connection?: object,
  ): boolean | Promise<boolean>
  /** Makes the key of a claim free again, unless its answer is kept. */
  release(claim: IdempotencyClaim): void | Promise<void>
  /** Removes records whose time is over, unless they expire by themselves. Called each minute. */
  expire(): void | Promise<void>
}

/** The claim of a request to its key. */
export interface IdempotencyClaim {
  /** Digest of the caller and of the key that the caller chose: at most 100 characters of Base64url. */
  readonly key: string
  /** Id of the caller, who has a share of a bounded store; `null` if it is not known. */
  readonly caller: string | null
  /** Names the claim: another one for each request. */
  readonly token: string
  /** Digest of the request: at most 100 characters of Base64url. */
  readonly fingerprint: string
}

/** What a store has under a key. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  /** The answer as JSON; `null` while the request runs. */
  readonly answer: string | null
}
