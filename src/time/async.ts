export type MaybeAsync<Value> = Value | Promise<Value>

/** Calls a function with a value: at once, unless the value is a promise. */
export function withValue<Value, Result>(
  value: MaybeAsync<Value>,
  use: (value: Value) => MaybeAsync<Result>,
): MaybeAsync<Result> {
  return isPromise(value) ? value.then(use) : use(value)
}

/**
 * Runs a function, and calls `use` with what it returns, or `fail` with what it throws: at once, unless it returns a promise.
 * What `use` throws is not given to `fail`.
 */
export function whenSettled<Value, Result>(
  run: () => MaybeAsync<Value>,
  use: (value: Value) => MaybeAsync<Result>,
  fail: (error: unknown) => MaybeAsync<Result>,
): MaybeAsync<Result> {
  let value: MaybeAsync<Value>
  try {
    value = run()
  } catch (error) {
    return fail(error)
  }
  return isPromise(value) ? value.then(use, fail) : use(value)
}

export function isPromise<Value>(value: MaybeAsync<Value>): value is Promise<Value> {
  return typeof (value as Partial<Promise<Value>> | null | undefined)?.then === 'function'
}

/** Calls a function once after a number of milliseconds. Returns a function that cancels the call. */
export type Schedule = (run: () => void, milliseconds: number) => () => void

/** A {@link Schedule} by `setTimeout`. It does not keep the process alive. */
export const scheduleTimeout: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds)
  timer.unref()
  return () => clearTimeout(timer)
}

export class LateError extends Error {
  override readonly name = 'LateError'
}

export function inTime<Value>(
  promise: Promise<Value>,
  milliseconds: number,
  what: string,
  schedule: Schedule = scheduleTimeout,
): Promise<Value> {
  // Promise.race() would make more promises, and this runs for each request.
  return new Promise((resolve, reject) => {
    // The error comes after the sockets are read.
    const late = () =>
      setImmediate(() => reject(new LateError(`${what} did not come within ${milliseconds} ms`)))
    const stop = schedule(late, milliseconds)
    const settled =
      <Result>(settle: (result: Result) => void) =>
      (result: Result) => {
        stop()
        settle(result)
      }
    promise.then(settled(resolve), settled(reject))
  })
}

/** Tells which failure begins an outage, and which success ends it: only those are logged. */
export function outageLog(interval = 0, now: () => number = () => 0) {
  let isOn = false
  let quietUntil = Number.NEGATIVE_INFINITY
  return {
    /** Notes a failure. Returns whether an outage that is to be logged begins with it. */
    begins(): boolean {
      const time = now()
      if (isOn || time < quietUntil) return false
      isOn = true
      quietUntil = time + interval
      return true
    },

    /** Notes a success. Returns whether an outage that was logged ends with it. */
    ends(): boolean {
      const wasOn = isOn
      isOn = false
      return wasOn
    },
  }
}
