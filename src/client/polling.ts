import { OperationError, refusal } from './operation-error.js'
import type { WaitOptions } from './options.js'
import { bounded, longestInterval, longestStop, shortestWait, waitAfter } from './retry-after.js'
import { type ReadAnswer, send } from './send.js'
import { sleepByTimer } from './sleep.js'

/** Asks again and again, at intervals and with a maximum of attempts. */
export interface Polling {
  /**
   * Waits, and asks until `read` makes something of an answer: of a 2xx or a 303.
   *
   * @throws OperationError `attempts-exhausted`, `refused`, and what `read` throws of it; the reason of the signal
   */
  ask<T>(url: string, read: ReadAnswer<T | undefined>): Promise<T>
  /** Makes the wait that is under way, or else the next one, as short as possible. */
  hasten(): void
}

/**
 * A {@link Polling}; one at a time may ask.
 *
 * @param start an answer that says how long to wait for the first request, which else does not wait
 */
export function polling(options: WaitOptions, start?: Response): Polling {
  const { signal, maxAttempts = 240, interval = 5_000, now = Date.now, sleep = sleepByTimer } = options
  let attempts = 0
  let wait = 0
  let current: AbortController | undefined
  const abort = (): void => current?.abort()

  /** Takes from an answer how long to wait; gives whether it is about the service rather than what was asked. */
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
