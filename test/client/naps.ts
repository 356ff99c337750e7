import type { Sleep } from '../../src/client/index.js'

/** A clock for the waits of a client: they take no time, and are counted. */
export interface Naps {
  /** Milliseconds of each wait, in their order. */
  readonly lengths: readonly number[]
  readonly sleep: Sleep
  /** Milliseconds since the epoch; goes on with each wait. */
  readonly now: () => number
}

/** Waits that are over at once, but for the one with the index `held`: that one ends with its signal alone. */
export function countNaps(held?: number): Naps {
  const lengths: number[] = []
  let time = Date.parse('2026-11-20T08:00:00.000Z')
  return {
    lengths,
    now: () => time,
    sleep: async (milliseconds, signal) => {
      lengths.push(milliseconds)
      if (lengths.length - 1 === held) {
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      }
      time += milliseconds
    },
  }
}
