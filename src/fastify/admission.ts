import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BoundedCache } from '../bounded-cache.js'
import { acceptsAny } from '../http/media-types.js'
import { notAcceptable } from '../problem/not-acceptable.js'
import { ProblemError } from '../problem/problem-error.js'
import { refuse } from '../problem/send-problem.js'
import type { Mode } from '../rules/modes.js'
import type { Reporter } from '../rules/report.js'
import { earlyRefusalOf } from './early-refusal.js'
import { refuseFormat } from './formats.js'
import { setFrameworkErrorHeaders } from './framework-error-headers.js'
import { addAppHook } from './route.js'
import { routeSlot } from './slots.js'
import { closeWhereFramingIsFaulty, headerRefusals } from './wire-checks.js'

type Next = (error?: Error) => void
type Admit = (request: FastifyRequest, reply: FastifyReply, next: Next) => void

/** What is judged of the requests of a route. */
export interface RouteAdmission {
  readonly mode: Mode
  /** Media types that the route produces; `null` where they are not known. */
  readonly produced: readonly string[] | null
  readonly accepts: Accepts | null
}

/** What is judged of the requests of a route. */
export const admissionOfRoute = routeSlot<RouteAdmission>('admission.route')

/** Options of {@link Admission}. */
export interface AdmissionOptions {
  /** Seconds after which a client may come back when the server has closed. */
  readonly retryAfter: number
  /** Whether requests are refused that no route says anything about. */
  readonly mode: Mode
  readonly reporter: Reporter
}

/** Decides whether a request is admitted, before anything is done for it. */
export class Admission {
  /** Whether the server is closing: then no request is admitted. */
  closing = false
  readonly #options: AdmissionOptions
  readonly #acceptances = new Map<string, Accepts>()
  readonly #headerRefusal = headerRefusals()

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** Judges the requests of a context and of those below it. */
  install(app: FastifyInstance): void {
    addAppHook(app, 'onRequest', 'problems:admission', this.#admit)
  }

  /** Returns the checks for the requests of a route. */
  routeAdmission(mode: Mode, produced: readonly string[] | null): RouteAdmission {
    return { mode, produced, accepts: mode === 'off' ? null : this.#acceptance(produced) }
  }

  readonly #admit: Admit = (request, reply, next) => {
    const { mode } = this.#options
    if (mode !== 'off') {
      if (mode === 'enforce') closeWhereFramingIsFaulty(request, reply)
      const fault = this.#headerRefusal(request.raw)
      if (fault !== null && mode === 'enforce') {
        refuseEarly(request, reply, fault, next)
        return
      }
      if (fault !== null) this.#observe('header-fields', request, fault)
    }
    const { headers, httpVersionMajor } = request.raw
    const { accept } = headers
    const takesAll = accept === undefined || accept === '*/*'
    // Most requests end here: what Fastify says of a route it puts together each time.
    if (takesAll && !this.closing && (headers.host !== undefined || httpVersionMajor !== 1)) next()
    else this.#judge(request, reply, next)
  }

  #judge(request: FastifyRequest, reply: FastifyReply, next: Next): void {
    const route = admissionOfRoute.of(request)
    const refusal = this.#refusal(request, route)
    if (refusal === null) next()
    else refuseEarly(request, reply, refusal, next)
  }

  #refusal(request: FastifyRequest, route: RouteAdmission | undefined): ProblemError | null {
    const { mode, reporter } = this.#options
    const ofServer = this.#serverRefusal(request)
    if (ofServer !== null) {
      if (mode === 'enforce' || route?.mode === 'enforce') return ofServer
      if (mode === 'report') this.#observe('server', request, ofServer)
    }
    if (route === undefined || route.accepts === null) return null
    const refuseOther = refuseFormat.of(request)
    if (refuseOther !== undefined) return route.mode === 'enforce' ? refuseOther(request) : null
    if (route.accepts(request.raw.headers.accept)) return null
    const produced = route.produced ?? []
    if (route.mode === 'enforce') return notAcceptable(produced)
    reporter.observe('problems', 'accept', request, `Accept takes none of ${produced.join(', ')}`, 406)
    return null
  }

  #observe(rule: string, request: FastifyRequest, refusal: ProblemError): void {
    this.#options.reporter.observe('problems', rule, request, refusal.message, refusal.statusCode)
  }

  /** Returns why a request is not admitted, wherever it goes to; `null` if it is. */
  #serverRefusal(request: FastifyRequest): ProblemError | null {
    if (this.closing) {
      return new ProblemError('server-closing', {
        detail: 'The server is closing; try again',
        headers: { 'retry-after': String(this.#options.retryAfter) },
      })
    }
    const { headers, httpVersionMajor, httpVersionMinor } = request.raw
    // RFC 9112 §3.2; Node's own answer to this has no body, so serverOptions() leaves the check to us.
    if (headers.host === undefined && httpVersionMajor === 1 && httpVersionMinor === 1) {
      return new ProblemError('request-malformed', { detail: 'An HTTP/1.1 request must have a Host header' })
    }
    return null
  }

  // Routes with the same media types share the cache of `Accept` headers, because clients choose its keys.
  #acceptance(produced: readonly string[] | null): Accepts | null {
    if (produced === null) return null
    const key = [...produced].sort().join()
    const known = this.#acceptances.get(key)
    if (known !== undefined) return known
    const accepts = acceptance(produced)
    this.#acceptances.set(key, accepts)
    return accepts
  }
}

/** Refuses a request before the hooks that would set headers on its answer, unless it is refused for all it asks for. */
function refuseEarly(request: FastifyRequest, reply: FastifyReply, refusal: ProblemError, next: Next): void {
  if (earlyRefusalOf(request) !== null) next()
  else setFrameworkErrorHeaders(request, reply, () => refuse(request, reply, refusal, next))
}

/** Whether an `Accept` header accepts one of the produced media types. */
export type Accepts = (accept: string | undefined) => boolean

const cachedVerdicts = 100
const longestCached = 256

/** Each header is read once; clients choose them, so neither all nor long ones are kept. */
function acceptance(produced: readonly string[]): Accepts {
  const verdicts = new BoundedCache<string, boolean>(cachedVerdicts)
  return function accepts(accept) {
    if (accept === undefined) return true
    const known = verdicts.get(accept)
    if (known !== undefined) return known
    const verdict = acceptsAny(accept, produced)
    if (accept.length <= longestCached) verdicts.set(accept, verdict)
    return verdict
  }
}
