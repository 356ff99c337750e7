import type { FastifyRequest, RouteOptions } from 'fastify'
import { hasCallers, subjectOf } from '../../fastify/caller.js'
import { closingIfFails } from '../../fastify/failed-boot.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { whenSettled } from '../../maybe-async.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { describeRoute } from '../../problem/route-description.js'
import { reporterOf } from '../../rules/report.js'
import { readKey } from './fingerprint.js'
import { addIdempotencyHooks, bodyRead, methodsWithKeys, workOf } from './hooks.js'
import { Ledger } from './ledger.js'
import { describeIdempotency } from './openapi.js'
import {
  type IdempotencyOptions,
  type IdempotencyRouteOptions,
  idempotencyChecks,
  idempotencyDefaults,
  idempotencyRouteChecks,
  type RoutePlan,
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
export const idempotency = conventionPlugin<IdempotencyOptions>(
  'idempotency',
  function setUpIdempotency(app, received) {
    const options: RoutePlan = resolveOptions(
      'idempotency',
      received,
      idempotencyChecks,
      idempotencyDefaults,
    ) as RoutePlan
    bodyRead.declare(app)
    workOf.declare(app)
    const members = { idempotency: { get: requestIdempotency } }
    offerNames(app, { plugin: 'idempotency', mode: options.mode, owner: 'request', members })
    if (options.mode === 'off') return
    const reporter = reporterOf(app)
    const { store = memoryIdempotency(), lease, storeTimeout, schedule, mode } = options
    const ledger = new Ledger({ store, lease, storeTimeout, schedule, log: app.log })
    const described: { readonly route: RouteOptions; readonly plan: RoutePlan }[] = []
    let isUsed = false
    reporter.checkAtReady(function findUnknownCallers() {
      if (!isUsed || options.identify !== subjectOf || hasCallers(app)) return
      reporter.addFinding(
        {
          plugin: 'idempotency',
          route: '(all)',
          rule: 'identify',
          mode: 'report',
          problem:
            'all callers share one space of keys, told apart by header fields that look like credentials',
          instead: 'identify, or bearer',
        },
        'none',
      )
    })

    app.addHook('onRoute', function addIdempotencyOnRoute(route) {
      const names = [route.method].flat()
      const label = `${names.join(', ')} ${route.path}`
      const given = route.config?.idempotency
      const plan = resolveRouteOptions<IdempotencyRouteOptions, RoutePlan>(
        `${label} config.idempotency`,
        given,
        idempotencyRouteChecks,
        options,
      ) as RoutePlan | false
      if (plan === false) return
      if (names.some((name) => methodsWithKeys.has(name))) {
        isUsed = true
        addIdempotencyHooks(route, plan, ledger, reporter)
        if (mode === 'enforce') described.push({ route, plan })
      } else if (given !== undefined && !names.includes('HEAD')) {
        reporter.addFinding({
          plugin: 'idempotency',
          route: label,
          rule: 'method',
          mode: mode === 'report' ? 'report' : 'enforce',
          problem: `config.idempotency has no effect on ${names.join(', ')}`,
          instead: `a route with ${[...methodsWithKeys].join(', ')}, or no config.idempotency`,
        })
      }
    })

    app.addHook('onReady', async function startIdempotency() {
      for (const { route, plan } of described) {
        describeRoute(route, describeIdempotency(plan))
      }
      if (!isUsed) return
      await closingIfFails(app, async () => {
        await whenSettled(
          () => ledger.ask(() => store.check(), 'a check'),
          () => {},
          (error) => {
            if (mode !== 'report') throw error
          },
        )
      })
      ledger.sweep()
    })
    app.addHook('onClose', async () => ledger.close())
  },
)

function requestIdempotency(this: FastifyRequest): RequestIdempotency {
  const work = workOf.get(this)
  const fieldValue = this.headers['idempotency-key']
  return {
    key: work === undefined || fieldValue === undefined ? null : readKey(String(fieldValue)),
    async keep(connection: object, answer: KeptAnswer = {}) {
      if (work?.kind !== 'run' || work.plan.mode === 'report') return
      await keepAnswer(work.attempt, work.plan.maxBytes, connection, answer)
    },
  }
}
