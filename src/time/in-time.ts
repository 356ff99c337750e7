import { type Schedule, scheduleTimeout } from './schedule.js'

export class LateError extends Error {
  override readonly name = 'LateError'
}

/** Waits for a promise for at most a number of milliseconds. */
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
