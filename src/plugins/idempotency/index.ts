import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { convention } from '../../convention/convention.js'
import { hasCallers, subjectOf } from '../../fastify/caller.js'
import { closingIfFails } from '../../fastify/failed-boot.js'
import { offerNames } from '../../fastify/offer-names.js'
import type { RegistrationOptions } from '../../fastify/route-watch.js'
import { reporterOf } from '../../rules/report.js'
import { timeWindowOf } from '../../time/time-window.js'
import { readKey } from './fingerprint.js'
import { bodyRead, keySteps, methodsWithKeys, watchHandler, workOf } from './hooks.js'
import { Ledger } from './ledger.js'
import { describeIdempotency } from './openapi.js'
import {
  type IdempotencyOptions,
  type IdempotencyRouteOptions,
  idempotencyOptions,
  idempotencyRouteOptions,
} from './options.js'
import { type KeptAnswer, keepAnswer, type RequestIdempotency } from './request-idempotency.js'
import { memoryIdempotency } from './stores/memory.js'

export type { IdempotencyOptions, IdempotencyRouteOptions } from './options.js'
export type { KeptAnswer, RequestIdempotency } from './request-idempotency.js'
export { type MemoryIdempotencyOptions, memoryIdempotency } from './stores/memory.js'
export {
  type IdempotencyClaim,
  type IdempotencyRecord,
  type IdempotencyStore,
  IdempotencyStoreFullError,
  type IdempotencyTransaction,
} from './stores/store.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `idempotency` for this route; `false` ignores keys. */
    idempotency?: IdempotencyRouteOptions | false
  }
  interface FastifyRequest {
    /** The key of the request (`Idempotency-Key`). */
    readonly idempotency: RequestIdempotency
  }
}

/**
 * Repeated requests run once (draft-ietf-httpapi-idempotency-key-header). An unsafe request with an `Idempotency-Key` runs,
 * and its answer is kept for 24 hours. The same request with the same key gets the same status, headers and bytes, with
 * `Idempotent-Replayed: true`, and nothing runs: 409 `idempotency-in-progress` while the first one runs. Another request with
 * the key is 422 `idempotency-key-reused`. Keys of one caller have nothing to do with those of another.
 *
 * A key is looked up after validation and authorization, and before preconditions. What is refused before the handler, and
 * what fails with 5xx, is not kept: the key is free again. If a process dies, its keys are free after a lease; what it has
 * done by then may be done again, unless the handler keeps its answer in its own transaction, see
 * {@link RequestIdempotency.keep}.
 *
 * Not for GET and HEAD, which may be repeated anyway. Not for handlers that write their response themselves.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const idempotency: FastifyPluginAsync<IdempotencyOptions & RegistrationOptions> = convention({
  name: 'idempotency',
  rules: ['identify', 'method'],
  options: idempotencyOptions,
  routeOptions: idempotencyRouteOptions,
  setUp({ app, options, atReady, addFinding }) {
    const { mode, store = memoryIdempotency(), lease, storeTimeout, schedule } = options
    bodyRead.declare(app)
    workOf.declare(app)
    const members = { idempotency: { get: requestIdempotency } }
    offerNames(app, { plugin: 'idempotency', mode, owner: 'request', members })
    const ledger = new Ledger({
      store,
      lease: timeWindowOf(lease) ?? 0,
      storeTimeout: timeWindowOf(storeTimeout) ?? 0,
      schedule,
      log: app.log,
    })
    const state = { ledger, reporter: reporterOf(app), isUsed: false }
    atReady(function findUnknownCallers() {
      if (!state.isUsed || options.identify !== subjectOf || hasCallers(app)) return
      const problem =
        'all callers share one space of keys, told apart by header fields that look like credentials'
      const finding = { route: '(all)', rule: 'identify', problem, instead: 'identify, or bearer' }
      addFinding({ ...finding, mode: 'report' }, 'none')
    })
    app.addHook('onReady', async function startIdempotency() {
      if (!state.isUsed) return
      await closingIfFails(app, async () => {
        try {
          await ledger.ask(() => store.check(), 'a check')
        } catch (error) {
          if (mode !== 'report') throw error
        }
      })
      ledger.sweep()
    })
    app.addHook('onClose', async () => ledger.close())
    return state
  },
  route({ route, methods, options, isConfigured, state, addFinding }) {
    if (route === null || options.mode === 'off') return undefined
    if (!methods.some((name) => methodsWithKeys.has(name))) {
      if (isConfigured && !methods.includes('HEAD')) {
        addFinding(
          'method',
          `config.idempotency has no effect on ${methods.join(', ')}`,
          `a route with ${[...methodsWithKeys].join(', ')}, or no config.idempotency`,
        )
      }
      return undefined
    }
    state.isUsed = true
    watchHandler(route)
    const rules = { ...options, keepFor: timeWindowOf(options.keepFor) ?? 0 }
    return {
      ...keySteps(rules, state.ledger, state.reporter),
      describe: options.mode === 'enforce' ? describeIdempotency(rules) : undefined,
    }
  },
})

function requestIdempotency(this: FastifyRequest): RequestIdempotency {
  const work = workOf.get(this)
  const fieldValue = this.headers['idempotency-key']
  return {
    key: work === undefined || fieldValue === undefined ? null : readKey(String(fieldValue)),
    async keep(connection: object, answer: KeptAnswer = {}) {
      if (work?.kind !== 'run' || work.rules.mode === 'report') return
      await keepAnswer(work.attempt, work.rules.maxBytes, connection, answer)
    },
  }
}
