import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { BoundedCache } from '../bounded-cache.js'
import { acceptsAny } from '../http/media-types.js'
import { notAcceptable } from '../problem/not-acceptable.js'
import { ProblemError } from '../problem/problem-error.js'
import { refuse } from '../problem/send-problem.js'
import type { Mode } from '../rules/modes.js'
import type { Reporter } from '../rules/report.js'
import { earlyRefusalOf, setFrameworkErrorHeaders } from './early-answers.js'
import { refuseFormat } from './formats.js'
import { addAppHook, addHook } from './route.js'
import { routeSlot } from './slots.js'
import { closeWhereFramingIsFaulty, headerRefusals } from './wire-checks.js'

type Next = (error?: Error) => void
type Admit = (request: FastifyRequest, reply: FastifyReply, next: Next) => void

/** The mode of a route that has one of its own. */
export const admissionOfRoute = routeSlot<Mode>('admission.route')

/** Options of {@link Admission}. */
export interface AdmissionOptions {
  /** Seconds after which a client may come back when the server has closed. */
  readonly retryAfter: number
  /** Whether requests are refused that no route says anything about. */
  readonly mode: Mode
  readonly reporter: Reporter
}

/** Decides whether a request is admitted: before any other hook, and by `Accept` after quota and authentication. */
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

  /** Judges the requests of a route by `Accept`: after authentication and quota, because clients can repeat them. */
  judgeAccept(route: RouteOptions, mode: 'enforce' | 'report', produced: readonly string[]): void {
    const { reporter } = this.#options
    const accepts = this.acceptance(produced)
    addHook(route, 'onRequest', 'problems:accept', function acceptOnRequest(request, reply, next) {
      const { accept } = request.raw.headers
      if (accept === undefined || accept === '*/*') {
        next()
        return
      }
      const refuseOther = refuseFormat.of(request)
      let refusal: ProblemError | null = null
      if (refuseOther !== undefined) refusal = mode === 'enforce' ? refuseOther(request) : null
      else if (!accepts(accept)) refusal = notAcceptable(produced)
      if (refusal !== null && mode === 'enforce') refuse(request, reply, refusal, next)
      else {
        if (refusal !== null) {
          const example = `Accept takes none of ${produced.join(', ')}`
          reporter.observe('problems', 'accept', request, example, 406)
        }
        next()
      }
    })
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
    const refusal = this.#serverRefusal(request)
    if (refusal === null) next()
    else if (mode === 'enforce' || admissionOfRoute.of(request) === 'enforce') {
      refuseEarly(request, reply, refusal, next)
    } else {
      if (mode === 'report') this.#observe('server', request, refusal)
      next()
    }
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

  /** Returns whether an `Accept` header accepts one of these media types. */
  acceptance(produced: readonly string[]): Accepts {
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
export type Accepts = (accept: string) => boolean

const cachedVerdicts = 100
const longestCached = 256

/** Each header is read once; clients choose them, so neither all nor long ones are kept. */
function acceptance(produced: readonly string[]): Accepts {
  const verdicts = new BoundedCache<string, boolean>(cachedVerdicts)
  return function accepts(accept) {
    const known = verdicts.get(accept)
    if (known !== undefined) return known
    const verdict = acceptsAny(accept, produced)
    if (accept.length <= longestCached) verdicts.set(accept, verdict)
    return verdict
  }
}
