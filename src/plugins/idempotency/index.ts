import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { hasCallers, subjectOf } from '../../convention/caller.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { closingIfFails } from '../../convention/failed-boot.js'
import { offerNames } from '../../convention/offer-names.js'
import { exactJson } from '../../json/exact-json.js'
import { flag, functionOf, integer, type OptionsOf, objectWith, option, optional } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { modeOption } from '../../report/modes.js'
import { reporterOf } from '../../report/report.js'
import { timerOption } from '../../time/clock.js'
import { duration } from '../../time/time-window.js'
import { isKept } from './answer.js'
import { type IdentifyCaller, keySteps, methodsWithKeys, watchHandler, workOf } from './hooks.js'
import { ledgerOf } from './ledger.js'
import { maxKeyLength } from './request.js'
import { memoryIdempotency } from './stores/memory.js'
import type { IdempotencyStore } from './stores/store.js'

export { type MemoryIdempotencyOptions, memoryIdempotency } from './stores/memory.js'
export type {
  IdempotencyClaim,
  IdempotencyRecord,
  IdempotencyStore,
} from './stores/store.js'

const store = objectWith<IdempotencyStore>(
  'a store of keys, such as memoryIdempotency()',
  ['check', 'claim', 'renew', 'complete', 'release', 'expire'],
  ['isShared'],
)

const idempotencyRouteOptions = {
  /**
   * Whether a request without `Idempotency-Key` is refused: 400 `idempotency-key-invalid`.
   * @default false
   */
  required: option(flag, false),
  /**
   * How long an answer is kept: milliseconds, or a text such as `'24 h'`; at least one second.
   * @default '24 h'
   */
  keepFor: option(duration, 86_400_000),
  /**
   * Maximum length of an answer, in bytes of its body. A longer one is sent, but not kept: the request does not run again,
   * and a repeated one gets 409 `idempotency-answer-not-kept`.
   * @default 65_536
   */
  maxBytes: option(integer(0, 16_777_216), 65_536),
}

const ownOptions = {
  /**
   * `enforce` sends kept answers and refuses requests, `report` changes no response and counts the keys that are malformed
   * or missing, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Where keys and answers are: `memoryIdempotency()`, `redisIdempotency()`, `postgresIdempotency()`, or one of your own.
   * @default memoryIdempotency()
   */
  store: optional(store),
  /**
   * Returns the id of the caller, who has keys of its own, or a promise of it; `null` if it is not known. Runs after authorization.
   * @default the subject of `request.caller`
   */
  identify: option(functionOf<IdentifyCaller>('a function of the request'), subjectOf),
  /**
   * How long a key stays claimed if its process dies: milliseconds, or a text such as `'30 s'`; at least one second. It is
   * renewed while the request runs, so it does not limit the handler.
   * @default '30 s'
   */
  lease: option(duration, 30_000),
  /**
   * How long a request waits for a shared store.
   * @default '2 s'
   */
  storeTimeout: option(duration, 2_000),
  ...timerOption,
}

/** Options of a route, under `config.idempotency`; `false` for none. */
export interface IdempotencyRouteOptions extends OptionsOf<typeof idempotencyRouteOptions> {}

/** Options of the plugin `idempotency`. */
export interface IdempotencyOptions extends IdempotencyRouteOptions, OptionsOf<typeof ownOptions> {}

/** The answer that a handler keeps in its transaction. */
export interface KeptAnswer {
  /**
   * Status of the answer.
   * @default 200
   */
  readonly statusCode?: number
  /**
   * Header fields that the handler sets, such as `location`.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * What the handler returns: a JSON value, with BigInts and Dates.
   * @default none: an empty body
   */
  readonly body?: unknown
}

/** The key of a request, as its handler sees it: `request.idempotency`. */
export interface RequestIdempotency {
  /**
   * The key that the client has chosen, for services that the handler calls; `null` if the request has none, or if keys are
   * not enforced here. Another caller may have chosen the same.
   */
  readonly key: string | null
  /**
   * Keeps the answer in a transaction of the app, together with the effect: both are committed, or none is. Call it right
   * before the commit. Does nothing for requests without a key.
   *
   * @param connection of the transaction, see `within` of the store
   * @throws ProblemError `idempotency-in-progress` if another process has taken over the key: roll back; TypeError if the store
   * takes part in no transactions; RangeError if the answer is longer than `maxBytes`
   */
  keep(connection: object, answer?: KeptAnswer): Promise<void>
}

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
 * Repeated requests run once (draft-ietf-httpapi-idempotency-key-header). The same unsafe request with the same
 * `Idempotency-Key` gets the same status, headers and bytes for 24 hours, with `Idempotent-Replayed: true`, and nothing runs: 409
 * `idempotency-in-progress` while the first one runs. Another request with the key is 422 `idempotency-key-reused`.
 *
 * A key is looked up after validation and authorization, and before preconditions. What is refused before the handler, and
 * what fails with 5xx, is not kept. If a process dies, its keys are free after a lease; what it has done by then may be done
 * again, unless the handler keeps its answer in its own transaction, see {@link RequestIdempotency.keep}.
 *
 * Not for GET and HEAD, which may be repeated anyway. Not for handlers that write their response themselves.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const idempotency: FastifyPluginAsync<IdempotencyOptions & RegistrationOptions> = convention({
  name: 'idempotency',
  rules: ['identify', 'method'],
  options: { ...idempotencyRouteOptions, ...ownOptions },
  routeOptions: idempotencyRouteOptions,
  setUp({ app, options, atReady, addFinding }) {
    const { mode, store = memoryIdempotency(), lease, storeTimeout, schedule } = options
    const members = { idempotency: { get: requestIdempotency } }
    offerNames(app, { plugin: 'idempotency', mode, owner: 'request', members })
    const times = { lease: Number(lease), storeTimeout: Number(storeTimeout) }
    const ledger = ledgerOf({ store, schedule, log: app.log, ...times })
    const state = { ledger, reporter: reporterOf(app), isUsed: false }
    atReady(function findUnknownCallers() {
      if (!state.isUsed || options.identify !== subjectOf || hasCallers(app)) return
      const problem =
        'all callers share one space of keys, told apart by header fields that look like credentials'
      const finding = { route: '(all)', rule: 'identify', problem, instead: 'identify, or bearer' }
      addFinding({ ...finding, mode: 'report' }, 'none')
    })
    app.addHook('onReady', async function startIdempotency() {
      if (state.isUsed && mode === 'enforce') await closingIfFails(app, () => ledger.start())
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
    const steps = keySteps(options, state.ledger, state.reporter)
    if (options.mode === 'report') return steps
    watchHandler(route)
    return { ...steps, describe: describeIdempotency(options.required) }
  },
})

const statusOfAnswer = integer(200, 499)

function requestIdempotency(this: FastifyRequest): RequestIdempotency {
  const work = workOf.get(this)
  const run = work !== undefined && 'attempt' in work ? work : null
  return {
    key: run === null ? null : run.key,
    async keep(connection: object, { statusCode = 200, headers = {}, body }: KeptAnswer = {}) {
      if (run === null) return
      const status = statusOfAnswer('request.idempotency.keep() statusCode', statusCode)
      const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])
      const json = body instanceof Uint8Array ? undefined : exactJson(body, false)
      if (json === undefined && body !== undefined) throw new TypeError('the body of an answer is JSON')
      const answer = { status, headers: Object.fromEntries(fields), json }
      if (await run.ledger.keepWithin(connection, run.attempt, answer, run.maxBytes)) return
      throw new ProblemError('idempotency-in-progress', {
        detail: 'Another process has taken over this Idempotency-Key',
        headers: { 'retry-after': '1' },
      })
    },
  }
}

function describeIdempotency(isRequired: boolean): RouteDescription {
  const description =
    'Names the request, so that it can be repeated: a new unguessable value for each request, such as a UUID in quotes'
  const key = { type: 'string', minLength: 1, maxLength: maxKeyLength + 2, description }
  return {
    allHeaders: {
      'Idempotent-Replayed': {
        type: 'string',
        enum: ['true'],
        description: 'The response is that of an earlier request; nothing ran',
      },
    },
    // Of the class 4XX, some are kept, such as 422.
    hasAllHeaders: (status) => status === 'default' || isKept(Number(status.replace('XX', '22'))),
    parameters: { 'Idempotency-Key': { schema: key, isRequired } },
    problems: problemsOf({
      'idempotency-key-invalid': `Idempotency-Key is malformed${isRequired ? ', or missing' : ''}`,
      'idempotency-in-progress': 'The first request with this Idempotency-Key is still running',
      'idempotency-answer-not-kept':
        'The first request with this Idempotency-Key ran, and its response is not kept',
      'idempotency-key-reused': 'An earlier request with this Idempotency-Key was different',
      'idempotency-unavailable': 'Idempotency keys cannot be kept at the moment',
    }),
    headersOf: {
      409: {
        'Retry-After': { type: 'integer', description: 'Seconds until the request can be repeated' },
        Location: { type: 'string', description: 'What the first request created' },
      },
    },
  }
}
