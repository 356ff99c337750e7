import {
  type OperationEnd,
  OperationError,
  type OperationState,
  type RunningOperation,
  readState,
  refusal,
  urlOf,
} from './operation-state.js'
import { polling, send, type WaitOptions } from './polling.js'

/** Options of {@link followOperation}. */
export interface FollowOptions<Result = unknown> extends WaitOptions {
  /**
   * Is called with each state, also with the last one. If it throws, the polling ends with that error.
   * @default none
   */
  readonly onProgress?: ((state: OperationState<Result>) => void) | undefined
}

/**
 * An operation that is followed: an async iterable of its states, from the last known one to the final one.
 *
 * Requests are sent only while an iterator or a promise waits for a state. Iterators and `finished` share their requests,
 * so several of them send no more requests than one.
 */
export interface Operation<Result = unknown> extends AsyncIterable<OperationState<Result>> {
  /**
   * Polls until the operation has ended, and resolves with the final state, also if that is `Failed`.
   *
   * @throws (the promise rejects) OperationError if the state cannot be read; the reason of the signal
   */
  finished(): Promise<OperationEnd<Result>>
  /**
   * Requests the cancellation with the `link` of the last state, or of the 202 if its body is not read yet, or else of a
   * state that it requests at once. Resolves when the service has accepted it; `finished` returns the final state. Its requests
   * do not depend on the signal, and it may be called again.
   *
   * @throws (the promise rejects) OperationError `not-cancellable`, `untrusted-url`, `refused`; the error of `fetch`
   */
  cancel(): Promise<void>
}

/**
 * Follows an operation that a service has accepted, from the 202 or from the URL of its status, such as one that a page
 * stored before a reload.
 *
 * It polls `Operation-Location`, or else `Location`, at the interval in `Retry-After`, from 1 to 60 seconds. After a 429 or
 * a 503 it waits for `Retry-After`, at most an hour. Other 5xx, network errors and responses that take over 30 seconds are
 * tried again after the interval. It sends no request to another origin than that of the response.
 *
 * Not for other responses: check that the status is 202.
 *
 * @typeParam Result - type of `result`; the value is not checked
 * @throws OperationError `not-accepted`, `untrusted-url`; TypeError if URL or `init` is invalid
 * @example
 * ```js
 * const response = await fetch('/v1/payments/7/retry', { method: 'POST' })
 * const operation = followOperation(response, { signal })
 * for await (const state of operation) show(state.progress)
 * const end = await operation.finished()
 * if (end.status === 'Succeeded') show(end.resource ?? end.result)
 * ```
 */
export function followOperation<Result = unknown>(
  target: Response | string | URL,
  options: FollowOptions<Result> = {},
): Operation<Result> {
  const { init, onProgress } = options
  // Checked by its members: not every fetch returns the global Response.
  const start = (target as Response).headers && (target as Response)
  // Checked now: later, an invalid request would look like a network error.
  const { url } = new Request(start ? statusUrl(start) : (target as string), init)
  urlOf(url, url)
  const polls = polling(options, start)
  let latest: OperationState<Result> | undefined
  let pending: Promise<OperationState<Result>> | undefined

  async function read(response: Response): Promise<OperationState<Result>> {
    const location = response.status === 303 && response.headers.get('location')
    return readState<Result>(await response.text(), url, location)
  }

  async function request(): Promise<OperationState<Result>> {
    const state = await polls.ask(url, read)
    latest = state
    onProgress?.(state)
    return state
  }

  // Concurrent callers share one request.
  function next(): Promise<OperationState<Result>> {
    pending ??= request().finally(() => {
      pending = undefined
    })
    return pending
  }

  const operation: Operation<Result> = {
    async *[Symbol.asyncIterator]() {
      let state: OperationState<Result> | undefined
      do {
        state = latest && latest !== state ? latest : await next()
        yield state
      } while (state.status === 'In progress')
    },
    async finished() {
      let end: unknown
      for await (end of operation);
      return end as OperationEnd<Result>
    },
    async cancel() {
      let state = latest
      if (!state && start && !start.bodyUsed) state = await read(start.clone()).catch(() => undefined)
      if (!latest && !state?.link) {
        state = await send(options, new AbortController(), url, 'GET', async (response) => {
          if (response.ok || response.status === 303) return read(response)
          throw await refusal(response)
        })
      }
      const { link } = state as RunningOperation
      if (link?.rel !== 'cancel' || !link.method) throw new OperationError('not-cancellable', url)
      await send(
        options,
        new AbortController(),
        urlOf(link.href, url, true),
        link.method,
        async (response) => {
          if (!response.ok) throw await refusal(response)
        },
      )
      polls.hasten()
    },
  }
  return operation
}

/** @throws OperationError `not-accepted`, `untrusted-url` */
function statusUrl({ status, headers, url }: Response): string {
  const reference = headers.get('operation-location') ?? headers.get('location')
  if (status === 202 && reference) return urlOf(reference, url, true)
  throw new OperationError('not-accepted', status, { status })
}
