/** Returns the options `now` and `schedule` of a clock that runs faster than that of the machine. */
export function fasterClock(factor: number) {
  const start = Date.now()
  return {
    now: () => start + (Date.now() - start) * factor,
    schedule(run: () => void, milliseconds: number): () => void {
      const timer = setTimeout(run, milliseconds / factor)
      return () => clearTimeout(timer)
    },
  }
}
