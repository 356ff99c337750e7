/** Calls a function once after a number of milliseconds. Returns a function that cancels the call. */
export type Schedule = (run: () => void, milliseconds: number) => () => void

/** A {@link Schedule} by `setTimeout`. It does not keep the process alive. */
export const scheduleTimeout: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds)
  timer.unref()
  return () => clearTimeout(timer)
}
