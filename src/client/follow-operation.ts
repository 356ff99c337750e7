import { OperationError, refusal } from './operation-error.js'
import {
  type OperationEnd,
  type OperationState,
  type RunningOperation,
  readState,
} from './operation-state.js'
import type { FollowOptions } from './options.js'
import { polling } from './polling.js'
import { send } from './send.js'
import { urlOf } from './url-of.js'

/**
 * An operation that is followed: its states as an async iterator, from the last one that is known to the final one.
 *
 * The service is asked only while somebody waits for a state: an iteration that is left asks no more. Iterators and
 * `finished` share what was asked, so several of them cost no more than one.
 */
export interface Operation<Result = unknown> extends AsyncIterable<OperationState<Result>> {
  /**
   * Asks until it has ended, well or badly, and gives the final state: a failed operation resolves too.
   *
   * @throws (the promise rejects) OperationError where that cannot be known; the reason of the signal
   */
  finished(): Promise<OperationEnd<Result>>
  /**
   * Asks the service to cancel, by the `link` of the last state; if none is known, of the next one. Resolves when it has
   * agreed. How the operation ended is for `finished` to say: it may have been faster. One request, which neither waits
   * nor stops with the signal; it may be repeated.
   *
   * @throws (the promise rejects) OperationError `not-cancellable`, `untrusted-url`, `refused`; what `fetch` rejects with
   */
  cancel(): Promise<void>
}

/**
 * Follows an operation that a service has accepted, from the 202 or from the URL of its status, such as one that a page
 * kept over a reload.
 *
 * It polls `Operation-Location`, else `Location`, at the interval that `Retry-After` gives, from 1 to 60 seconds. After a
 * 429 or a 503 it stays away until the stated time, an hour at most. Other 5xx, failures of the network and answers that
 * take over 30 seconds are tried again after the interval. A URL of another origin than the response's gets no request.
 *
 * Not for a request that was answered at once: see to it that the status is 202.
 *
 * @typeParam Result - what `result` of a success is; nothing checks it
 * @throws OperationError `not-accepted`, `untrusted-url`; TypeError where no request can be made of URL and `init`
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
  // By its shape: not every fetch has the global Response.
  const start = (target as Response).headers && (target as Response)
  // Found now: later, a request that cannot be made would look like a failure of the network.
  const { url } = new Request(start ? statusUrl(start) : (target as string), init)
  urlOf(url, url)
  const polls = polling(options, start)
  let latest: OperationState<Result> | undefined
  let pending: Promise<OperationState<Result>> | undefined

  // Whoever comes second waits for what the first one has asked for.
  function next(): Promise<OperationState<Result>> {
    pending ??= polls
      .ask(url, async (response) => {
        const location = response.status === 303 && response.headers.get('location')
        return readState<Result>(await response.text(), url, location)
      })
      .then((state) => {
        latest = state
        onProgress?.(state)
        return state
      })
      .finally(() => {
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
      if (!latest) polls.hasten()
      const { link } = (latest ?? (await next())) as RunningOperation
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
