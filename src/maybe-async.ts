/** A value, or a promise of it. */
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

/** Whether a value is a promise, of any library. */
export function isPromise<Value>(value: MaybeAsync<Value>): value is Promise<Value> {
  return typeof (value as Partial<Promise<Value>> | null | undefined)?.then === 'function'
}
