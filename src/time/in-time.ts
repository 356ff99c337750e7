import { type Schedule, scheduleTimeout } from './schedule.js'

/** A time-out of {@link inTime}. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/**
 * Waits for a promise for at most a number of milliseconds. A promise that rejects after that is not an unhandled rejection.
 * A reply that came while the event loop was blocked is in time: Node.js runs late timers before it reads sockets.
 *
 * @param what the awaited event, for the message of the error
 * @throws LateError
 */
export function inTime<Value>(
  promise: Promise<Value>,
  milliseconds: number,
  what: string,
  schedule: Schedule = scheduleTimeout,
): Promise<Value> {
  // Promise.race() would make more promises, and this runs for each request.
  return new Promise((resolve, reject) => {
    const stop = schedule(() => {
      // Runs after the sockets are read.
      setImmediate(() => reject(new LateError(`${what} did not come within ${milliseconds} ms`)))
    }, milliseconds)
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
