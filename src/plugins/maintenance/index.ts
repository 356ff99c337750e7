import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { maintenanceSignal } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { closingIfFails } from '../../convention/failed-boot.js'
import { offerNames } from '../../convention/offer-names.js'
import { readNotice } from './notice.js'
import {
  type EnableOptions,
  enableOptions,
  type MaintenanceOptions,
  type MaintenanceRouteOptions,
  maintenanceOptions,
  maintenanceRouteOptions,
} from './options.js'
import { fileSource, pollerOf, storeSwitch } from './sources.js'
import { duringMaintenance, type MaintenanceState, maintenanceBy, refusing } from './state.js'

export type { Schedule } from '../../time/async.js'
export type { MaintenanceNotice, MaintenanceStore } from './notice.js'
export type {
  EnableOptions,
  MaintenanceOptions,
  MaintenanceRouteOptions,
  MaintenanceWindow,
  RetryAfterFormat,
} from './options.js'
export type { MaintenanceSource, MaintenanceState } from './state.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link maintenance} for this route; `false` exempts it. */
    maintenance?: MaintenanceRouteOptions | false
  }
  interface FastifyInstance {
    /** The maintenance of this context. */
    maintenance: {
      /**
       * Begins a maintenance, or changes the one that `enable` began. Resolves when it is in effect here and in the store.
       * An `until` in the past begins none.
       * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN; the error of the store, and then nothing changes
       */
      enable(options?: EnableOptions): Promise<void>
      /**
       * Ends what `enable` began, here or on another instance with the same store. A file and a planned window stay in
       * effect.
       * @throws the error of the store, and then nothing changes
       */
      disable(): Promise<void>
      /** Returns the maintenance in effect; `null` if there is none. */
      state(): MaintenanceState | null
    }
  }
}

/**
 * Answers every request with 503 `maintenance` and `Retry-After` while the service is in maintenance, on known and unknown
 * paths, before any authentication and handler. Requests that are being handled finish.
 *
 * A maintenance begins and ends at run time (`app.maintenance.enable()`, `.disable()`), by a file, by planned windows, or
 * by another instance through a shared store. The last known state of an unreachable source stays in effect.
 *
 * Register it on the root, before authentication, and after the plugin that answers CORS. Not for a server that closes:
 * the plugin `problems` answers then. Not for a process that is down: the proxy in front answers then.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const maintenance: FastifyPluginAsync<MaintenanceOptions & RegistrationOptions> = convention({
  name: 'maintenance',
  rules: ['refusal'],
  // A page cannot read a 503 to a preflight: browsers report a network error.
  exemptsPreflights: true,
  options: maintenanceOptions,
  routeOptions: maintenanceRouteOptions,
  setUp({ app, options }) {
    const { mode, file, store, now } = options
    const state = maintenanceBy(options, (changed) => {
      if (changed === null) app.log.info('maintenance: off')
      else app.log.warn({ maintenance: changed }, 'maintenance: on')
    })
    const enabled = storeSwitch(store, (notice) => state.setNotice('switch', notice))
    const value: FastifyInstance['maintenance'] = {
      async enable(given: EnableOptions = {}): Promise<void> {
        const { notice } = readNotice(enableOptions('maintenance.enable()', given))
        if (notice.until !== undefined && Date.parse(notice.until) <= now()) {
          app.log.warn(`maintenance: enabled until ${notice.until}, which is past`)
        }
        await enabled.set(notice)
      },
      disable: () => enabled.set(null),
      state: () => state.state(),
    }
    offerNames(app, { plugin: 'maintenance', mode, owner: 'app', members: { maintenance: { value } } })

    const pollers = [
      file !== false && fileSource(file, (notice) => state.setNotice('file', notice)),
      store !== undefined && enabled,
    ].flatMap((source) => (source === false || mode === 'off' ? [] : [pollerOf(source, options, app.log)]))
    app.addHook('onReady', async function readMaintenance() {
      state.refresh()
      await closingIfFails(app, async () => {
        await Promise.all(pollers.map((poller) => poller.start()))
      })
    })
    app.addHook('onClose', function stopMaintenance(_app, done) {
      state.stop()
      for (const poller of pollers) poller.stop()
      done()
    })
    if (mode === 'enforce') maintenanceSignal.set(app, state)

    return mode === 'off' ? undefined : refusing(state, options)
  },
  route({ modeOf, state: onRequest }) {
    if (onRequest === undefined) return undefined
    return { onRequest, describe: modeOf.refusal === 'enforce' ? duringMaintenance : undefined }
  },
})
