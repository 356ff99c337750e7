import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { refuseWithoutHooks } from '../../fastify/early-refusal.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook } from '../../fastify/route.js'
import { timeOf } from '../../http/date-time.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { type Claim, claimOf } from './current-maintenance.js'
import { earlyRefusalBy, guardBy, refusalBy } from './hooks.js'
import { readNotice } from './notice.js'
import {
  type EnableOptions,
  enableOptions,
  type MaintenanceOptions,
  type MaintenanceRouteOptions,
  type MaintenanceWindow,
  maintenanceChecks,
  maintenanceDefaults,
  maintenanceRouteChecks,
} from './options.js'
import type { Poller } from './poller.js'
import { filePoller, storePoller } from './sources.js'
import { Maintenance, type MaintenanceState } from './state.js'
import { MaintenanceSwitch } from './switch.js'

export type { Schedule } from '../../time/schedule.js'
export type { MaintenanceNotice } from './notice.js'
export type {
  EnableOptions,
  MaintenanceOptions,
  MaintenanceRouteOptions,
  MaintenanceWindow,
} from './options.js'
export type { RetryAfterFormat } from './retry-after.js'
export type { MaintenanceSource, MaintenanceState } from './state.js'
export { memoryMaintenanceStore } from './stores/memory.js'
export type { MaintenanceStore } from './stores/store.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What maintenance is to this route; `false` lets its requests through. */
    maintenance?: MaintenanceRouteOptions | false
  }
  interface FastifyInstance {
    /** The maintenance of this context. */
    maintenance: {
      /**
       * Begins a maintenance, or changes the one that `enable` began. Resolves when it holds here and the store has it.
       * An `until` in the past begins none.
       * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN; the error of the store, and then nothing changed here
       */
      enable(options?: EnableOptions): Promise<void>
      /**
       * Ends what `enable` began, here or on another instance with the same store. A file and a planned window go on.
       * @throws the error of the store, and then nothing changed here
       */
      disable(): Promise<void>
      /** The maintenance that is on; `null` while there is none. */
      state(): MaintenanceState | null
    }
  }
}

/**
 * While the service is in maintenance, every request is answered with 503 `maintenance` and `Retry-After`, known path or
 * not, before any handler and any authentication. Requests that were let in finish.
 *
 * It is begun and ended at run time (`app.maintenance.enable()`, `.disable()`), by a file, by planned windows, or by
 * another instance through a shared store. A source that cannot be reached is taken to say what it said last.
 *
 * Register it on the root, before what authenticates, and after the plugin that answers CORS. Not for closing a server:
 * the plugin `problems` answers that. Not for a process that is down: that is for the proxy before it.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const maintenance = conventionPlugin<MaintenanceOptions>(
  'maintenance',
  function setUpMaintenance(app, received) {
    const options = resolveOptions('maintenance', received, maintenanceChecks, maintenanceDefaults())
    const state = new Maintenance({
      windows: options.windows.map(windowClaim),
      now: options.now,
      schedule: options.schedule,
      onChange: (changed) => logChange(app, changed),
    })
    const enabled = new MaintenanceSwitch(options.store, (notice) =>
      state.say('switch', notice === null ? null : claimOf('switch', notice)),
    )

    app.decorate('maintenance', {
      async enable(given: EnableOptions = {}): Promise<void> {
        const { notice } = readNotice(enableOptions('maintenance.enable()', given))
        if (notice.until !== undefined && Date.parse(notice.until) <= options.now()) {
          app.log.warn(`maintenance: enabled until ${notice.until}, which is past`)
        }
        await enabled.set(notice)
      },
      disable: () => enabled.set(null),
      state: () => state.state(),
    })
    app.addHook('onRoute', function checkMaintenanceOnRoute(route) {
      resolveRouteOptions<MaintenanceRouteOptions, MaintenanceRouteOptions>(
        `${[route.method].flat().join(', ')} ${route.path} config.maintenance`,
        route.config?.maintenance,
        maintenanceRouteChecks,
        {},
      )
    })
    const pollers = pollersOf(received, options, state, enabled, app.log)
    app.addHook('onReady', async function readMaintenance() {
      state.refresh()
      await Promise.all(pollers.map((poller) => poller.start()))
    })
    app.addHook('onClose', function stopMaintenance(_app, done) {
      state.stop()
      for (const poller of pollers) poller.stop()
      done()
    })
    if (options.mode === 'off') return
    const surroundings = { maintenance: state, options, reporter: reporterOf(app) }
    const refusal = refusalBy(surroundings)
    addAppHook(app, 'onRequest', 'maintenance', guardBy(surroundings, refusal))
    if (options.mode === 'enforce') refuseWithoutHooks(app, earlyRefusalBy(surroundings, refusal))
  },
)

type AnyPoller = Pick<Poller<unknown>, 'start' | 'stop'>

function pollersOf(
  received: MaintenanceOptions,
  options: Readonly<Required<MaintenanceOptions>>,
  state: Maintenance,
  enabled: MaintenanceSwitch,
  log: FastifyBaseLogger,
): readonly AnyPoller[] {
  const { mode, file } = options
  if (mode === 'off') return []
  return [
    ...(file === false ? [] : [filePoller(file, state, options, log)]),
    // One in memory, of this app alone, needs no looking at.
    ...(received.store === undefined ? [] : [storePoller(enabled, options, log)]),
  ]
}

function windowClaim({ from, until, reason }: MaintenanceWindow): Claim {
  return {
    source: 'window',
    from: timeOf(from) ?? Number.NaN,
    until: timeOf(until) ?? Number.NaN,
    retryAfter: null,
    reason: reason ?? null,
  }
}

function logChange(app: FastifyInstance, state: MaintenanceState | null): void {
  if (state === null) app.log.info('maintenance: over')
  else app.log.warn({ maintenance: state }, 'maintenance: on')
}
