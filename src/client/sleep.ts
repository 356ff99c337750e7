/** Resolves after so many milliseconds; rejects with the reason of `signal` as soon as that aborts. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>

/** A {@link Sleep} by the clock of the machine; it keeps a process alive. */
export const sleepByTimer: Sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
