import { OperationError, refusal } from './operation-error.js'
import type { WaitOptions } from './options.js'
import { bounded, longestInterval, longestStop, shortestWait, waitAfter } from './retry-after.js'
import { type ReadAnswer, send } from './send.js'
import { sleepByTimer } from './sleep.js'

/** Sends requests at intervals, up to a maximum number. */
export interface Polling {
  /**
   * Waits, and sends requests until `read` returns a value for a 2xx or a 303.
   *
   * @throws OperationError `attempts-exhausted`, `refused`, or that of `read`; the reason of the signal
   */
  ask<T>(url: string, read: ReadAnswer<T | undefined>): Promise<T>
  /** Makes the current wait, or else the next one, as short as possible. */
  hasten(): void
}

/**
 * Returns a {@link Polling}; it sends one request at a time.
 *
 * @param start a response with the `Retry-After` for the first request; without it, that is sent at once
 */
export function polling(options: WaitOptions, start?: Response): Polling {
  const { signal, maxAttempts = 240, interval = 5_000, now = Date.now, sleep = sleepByTimer } = options
  let attempts = 0
  let wait = 0
  let current: AbortController | undefined
  const abort = (): void => current?.abort()

  /** Sets the next wait from a response. Returns whether it is a fault of the service, and not of the request. */
  function heed({ status, headers }: Response): boolean {
    const isStop = status === 429 || status > 499
    wait = bounded(waitAfter(headers, interval, now()), isStop ? longestStop : longestInterval)
    return isStop
  }

  if (start) heed(start)

  return {
    async ask<T>(url: string, read: ReadAnswer<T | undefined>): Promise<T> {
      let trouble: unknown
      signal?.addEventListener('abort', abort)
      try {
        for (;;) {
          signal?.throwIfAborted()
          // The negation also stops at a maximum that is not a number.
          if (!(attempts++ < maxAttempts)) {
            throw new OperationError('attempts-exhausted', maxAttempts, { cause: trouble })
          }
          const request = new AbortController()
          current = request
          try {
            if (wait) await sleep(wait, request.signal)
            wait = bounded(interval, longestInterval)
            const outcome = await send(options, request, url, 'GET', async (response) => {
              const isStop = heed(response)
              if (response.ok || response.status === 303) return read(response)
              trouble = await refusal(response)
              if (isStop) return
              throw trouble
            })
            if (outcome) return outcome
          } catch (error) {
            if (error instanceof OperationError) throw error
            trouble = error
          }
        }
      } finally {
        // The signal may outlive many operations.
        signal?.removeEventListener('abort', abort)
      }
    },
    hasten() {
      wait = shortestWait
      abort()
    },
  }
}
