/** Calls `run` once after so many milliseconds; what it returns prevents that. */
export type Schedule = (run: () => void, milliseconds: number) => () => void

/** A {@link Schedule} by the clock of the process, which it does not keep alive. */
export const scheduleTimeout: Schedule = (run, milliseconds) => {
  const timer = setTimeout(run, milliseconds)
  timer.unref()
  return () => clearTimeout(timer)
}
