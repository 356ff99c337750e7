import { type Schedule, scheduleTimeout } from './schedule.js'

/** What did not come in time. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/**
 * Waits for a promise, but not for longer than so many milliseconds.
 *
 * @param what what is late, for the error
 * @throws LateError; the promise goes on, and nobody minds if it rejects later
 */
export function inTime<Value>(
  promise: Promise<Value>,
  milliseconds: number,
  what: string,
  schedule: Schedule = scheduleTimeout,
): Promise<Value> {
  // One promise and one timer: a race makes several of each, and this is on the path of requests.
  return new Promise((resolve, reject) => {
    const stop = schedule(
      () => reject(new LateError(`${what} did not come within ${milliseconds} ms`)),
      milliseconds,
    )
    promise.then(
      (value) => {
        stop()
        resolve(value)
      },
      (error: unknown) => {
        stop()
        reject(error)
      },
    )
  })
}
