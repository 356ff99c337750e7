import { setImmediate } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { problems, serverOptions } from '../../../src/index.js'
import {
  type MaintenanceNotice,
  type MaintenanceOptions,
  maintenance,
} from '../../../src/plugins/maintenance/index.js'
import { readTimeout } from '../../../src/plugins/maintenance/sources.js'
import { keepLogs } from '../../support/logs.js'
import { type ManualClock, manualClock } from '../../support/manual-clock.js'

export const start = '2026-11-20T08:00:00.000Z'

/** Warnings and errors, but for the line that a maintenance begins with. */
export const faults = /^[45]0 (?!maintenance: on$)/

/** A service with a clock that the test moves. */
export async function serviceWith(
  t: Test,
  options: MaintenanceOptions = {},
  { clock = manualClock(start), withProblems = true, add = (_app: FastifyInstance): unknown => null } = {},
) {
  const { logger, lines } = keepLogs()
  const app = Fastify({ ...serverOptions(), logger })
  if (withProblems) await app.register(problems)
  await app.register(maintenance, { now: clock.now, schedule: clock.schedule, ...options })
  app.get('/', async () => ({}))
  add(app)
  t.teardown(() => app.close())
  await app.ready()
  return {
    app,
    clock,
    status: async () => (await app.inject('/')).statusCode,
    /** Lines of the log that match: the level, the message, and that of the error. */
    told: (pattern: RegExp) =>
      lines
        .map(({ level, msg, err }) => `${level} ${msg} ${(err as Error | undefined)?.message ?? ''}`.trim())
        .filter((line) => pattern.test(line)),
  }
}

/** A store in the memory of the process. */
export function memoryStore() {
  let current: MaintenanceNotice | null = null
  return {
    get: async (): Promise<MaintenanceNotice | null> => current,
    async set(notice: MaintenanceNotice | null) {
      current = notice
    },
  }
}

/** Advances the time to the next read, and waits for its end: while it lasts, the timer of its timeout waits. */
export async function look(clock: ManualClock): Promise<void> {
  await clock.advance(1000)
  while (clock.waiting(readTimeout) > 0) await setImmediate()
}
