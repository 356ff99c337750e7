import { setImmediate } from 'node:timers/promises'
import type { Schedule } from '../../src/plugins/maintenance/index.js'

/** A clock that a test moves. */
export interface ManualClock {
  readonly now: () => number
  readonly schedule: Schedule
  /** Moves the time, and runs what is due on the way, in its order. What that begins has ended when it resolves. */
  advance(milliseconds: number): Promise<void>
  /** Moves the time without running anything, as when a timer is late. */
  skip(milliseconds: number): void
  /** How many timers wait; of those that were set for so many milliseconds, where that is given. */
  waiting(milliseconds?: number): number
}

/** A clock that begins at a time, RFC 3339. */
export function manualClock(start: string): ManualClock {
  let time = Date.parse(start)
  const timers = new Set<{ readonly at: number; readonly delay: number; readonly run: () => void }>()
  return {
    now: () => time,
    schedule: (run, milliseconds) => {
      const timer = { at: time + milliseconds, delay: milliseconds, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async advance(milliseconds) {
      const end = time + milliseconds
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0]
        if (due === undefined) break
        timers.delete(due)
        time = Math.max(time, due.at)
        due.run()
        await settled()
      }
      time = end
      await settled()
    },
    skip: (milliseconds) => {
      time += milliseconds
    },
    waiting: (milliseconds) =>
      [...timers].filter(({ delay }) => milliseconds === undefined || delay === milliseconds).length,
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}
