import type { OperationState } from './operation-state.js'
import type { Sleep } from './sleep.js'

/** The options of `fetch` that the caller may set: `headers`, `credentials` and so on. */
export type RequestSettings = Omit<RequestInit, 'body' | 'method' | 'redirect' | 'signal'>

/** Options of {@link whenReady}, and of {@link followOperation} too. */
export interface WaitOptions {
  /**
   * Aborts waits and requests; promises reject with its reason. The operation on the server is not cancelled.
   * @default none
   */
  readonly signal?: AbortSignal | undefined
  /**
   * Maximum number of requests, failed ones included.
   * @default 240
   */
  readonly maxAttempts?: number | undefined
  /**
   * Milliseconds between two requests if there is no `Retry-After`; limited to 1,000 to 60,000.
   * @default 5_000
   */
  readonly interval?: number | undefined
  /**
   * Maximum time of a request and of reading its status document, in milliseconds. A request that takes longer fails.
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /**
   * Options of each request: `headers`, `credentials` and so on.
   * @default none
   */
  readonly init?: RequestSettings | undefined
  /**
   * Sends the requests; has to support `redirect: 'manual'` and `signal`.
   * @default globalThis.fetch
   */
  readonly fetch?: typeof globalThis.fetch | undefined
  /**
   * Returns milliseconds since the epoch. For tests.
   * @default Date.now
   */
  readonly now?: (() => number) | undefined
  /**
   * Waits between requests: resolves after the given milliseconds, rejects when its signal aborts. For tests.
   * @default a function that uses setTimeout
   */
  readonly sleep?: Sleep | undefined
}

/** Options of {@link followOperation}. */
export interface FollowOptions<Result = unknown> extends WaitOptions {
  /**
   * Is called with each state, also with the last one. If it throws, the polling ends with that error.
   * @default none
   */
  readonly onProgress?: ((state: OperationState<Result>) => void) | undefined
}
