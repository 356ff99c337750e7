/** Resolves after the given milliseconds; rejects with the reason of `signal` when that aborts. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>

/** A {@link Sleep} with `setTimeout`; it keeps the process alive. */
export const sleepByTimer: Sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
