/** A value, or a promise of it. */
export type MaybeAsync<Value> = Value | Promise<Value>

/** Calls a function with a value: at once, unless the value is a promise. */
export function withValue<Value, Result>(
  value: MaybeAsync<Value>,
  use: (value: Value) => MaybeAsync<Result>,
): MaybeAsync<Result> {
  return isPromise(value) ? value.then(use) : use(value)
}

/** Whether a value is a promise, of any library. */
export function isPromise<Value>(value: MaybeAsync<Value>): value is Promise<Value> {
  return typeof (value as Partial<Promise<Value>> | null | undefined)?.then === 'function'
}
