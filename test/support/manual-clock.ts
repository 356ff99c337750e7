import { setImmediate } from 'node:timers/promises'
import type { Schedule } from '../../src/plugins/maintenance/index.js'

/** A clock that a test moves. */
export type ManualClock = ReturnType<typeof manualClock>

/** A clock that begins at a time, RFC 3339. */
export function manualClock(start: string) {
  let time = Date.parse(start)
  const timers = new Set<{ readonly at: number; readonly delay: number; readonly run: () => void }>()
  return {
    now: () => time,
    schedule: ((run, milliseconds) => {
      const timer = { at: time + milliseconds, delay: milliseconds, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    }) satisfies Schedule as Schedule,
    /** Moves the time, and runs what is due on the way, in its order. What that begins has ended when it resolves. */
    async advance(milliseconds: number) {
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
    /** Moves the time without running anything, as when a timer is late. */
    skip(milliseconds: number) {
      time += milliseconds
    },
    /** How many timers wait; of those that were set for so many milliseconds, where that is given. */
    waiting: (milliseconds?: number) =>
      [...timers].filter(({ delay }) => milliseconds === undefined || delay === milliseconds).length,
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}
