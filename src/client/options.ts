import type { OperationState } from './operation-state.js'
import type { Sleep } from './sleep.js'

/** What of a request the caller decides, as for `fetch`: `headers`, `credentials` and so on. */
export type RequestSettings = Omit<RequestInit, 'body' | 'method' | 'redirect' | 'signal'>

/** Options of {@link whenReady}, and of {@link followOperation} too. */
export interface WaitOptions {
  /**
   * Ends the waiting and a request that is under way at once; promises reject with its reason. On the server nothing is
   * cancelled by it.
   */
  readonly signal?: AbortSignal | undefined
  /**
   * Requests at most, those that failed too.
   * @default 240
   */
  readonly maxAttempts?: number | undefined
  /**
   * Milliseconds between two requests where the service does not say `Retry-After`; kept within 1,000 and 60,000.
   * @default 5_000
   */
  readonly interval?: number | undefined
  /**
   * Milliseconds that a request may take, the reading of a status included; then it counts as failed.
   * @default 30_000
   */
  readonly timeout?: number | undefined
  /** Goes into each request: `headers`, `credentials` and so on. */
  readonly init?: RequestSettings | undefined
  /**
   * Sends the requests; has to honour `redirect: 'manual'` and the `signal`.
   * @default globalThis.fetch
   */
  readonly fetch?: typeof globalThis.fetch | undefined
  /**
   * Milliseconds since the epoch, for tests.
   * @default Date.now
   */
  readonly now?: (() => number) | undefined
  /**
   * Waits between requests: resolves after so many milliseconds, rejects when its signal aborts. For tests.
   * @default by setTimeout
   */
  readonly sleep?: Sleep | undefined
}

/** Options of {@link followOperation}. */
export interface FollowOptions<Result = unknown> extends WaitOptions {
  /** Is told each state as it comes in, the last one too. What it throws ends the following. */
  readonly onProgress?: ((state: OperationState<Result>) => void) | undefined
}
