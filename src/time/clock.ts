import { functionOf, option } from '../options.js'
import { type Schedule, scheduleTimeout } from './async.js'

export const clockOption = {
  /**
   * Returns the time, in milliseconds since the epoch. For tests.
   * @default Date.now
   */
  now: option(functionOf<() => number>('a function that returns milliseconds'), () => Date.now()),
}

export const timerOption = {
  /**
   * Calls a function later. For tests.
   * @default setTimeout, with timers that do not keep the process alive
   */
  schedule: option(functionOf<Schedule>('a function that calls another later'), scheduleTimeout),
}
