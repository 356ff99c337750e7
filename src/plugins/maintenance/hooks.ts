import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPreflight } from '../../fastify/preflight.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'
import type { Claim } from './current-maintenance.js'
import type { MaintenanceOptions, MaintenanceRouteOptions } from './options.js'
import { retryAfterField } from './retry-after.js'
import type { Maintenance } from './state.js'

/** What the guard needs to know. */
export interface GuardSurroundings {
  readonly maintenance: Maintenance
  readonly options: Required<MaintenanceOptions>
  readonly reporter: Reporter
}

/** Returns why a request is refused whatever else is wrong with it; `null` where its route lets it through. */
export function earlyRefusalBy({ maintenance, options }: GuardSurroundings, refusal: Refusal) {
  return function earlyRefusal(request: FastifyRequest): ProblemError | null {
    return maintenance.active && modeOf(request, options.mode) === 'enforce' ? refusal() : null
  }
}

/** Why a request is refused now; `null` where it is not. */
export function refusalBy({ maintenance, options }: GuardSurroundings): () => ProblemError | null {
  const { now, retryAfter, retryAfterFormat: format, jitter, random } = options
  return function refusal() {
    const moment = now()
    const claim = maintenance.claimAt(moment)
    if (claim === null) return null
    const { until } = claim
    const field = retryAfterField({
      now: moment,
      until: until === Number.POSITIVE_INFINITY ? null : until,
      otherwise: claim.retryAfter ?? retryAfter,
      jitter: jitter === 0 ? 0 : Math.floor(random() * (jitter + 1)),
      format,
    })
    return new ProblemError('maintenance', {
      detail: claim.reason ?? wordsOf(claim),
      headers: { 'retry-after': field, 'cache-control': 'no-store' },
    })
  }
}

/** The `onRequest` hook that lets nobody in while there is maintenance. */
export function guardBy({ maintenance, options, reporter }: GuardSurroundings, refusal: Refusal) {
  return function refuseInMaintenance(
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    if (!maintenance.active) {
      next()
      return
    }
    const mode = modeOf(request, options.mode)
    const problem = mode === 'off' || isAnsweredPreflight(request) ? null : refusal()
    if (problem === null) next()
    else if (mode === 'report') {
      reporter.observe('maintenance', 'refusal', request, `${request.method} while in maintenance`)
      next()
    } else refuse(request, reply, problem, next)
  }
}

/** The mode of the request's route; `otherwise` where it says nothing, or there is none. */
function modeOf(request: FastifyRequest, otherwise: Mode): Mode {
  const own = request.routeOptions.config?.maintenance as MaintenanceRouteOptions | false | undefined
  return own === false ? 'off' : (own?.mode ?? otherwise)
}

type Refusal = () => ProblemError | null

/**
 * Is it a CORS preflight, in an app that answers them with @fastify/cors? A browser that gets a 503 for it tells its page
 * of a network error. Where that plugin comes first, those that it answers do not get here.
 */
function isAnsweredPreflight(request: FastifyRequest): boolean {
  return decoratorOfCors in request && isPreflight(request)
}

const decoratorOfCors = 'corsPreflightEnabled'

function wordsOf({ until }: Claim): string {
  return until === Number.POSITIVE_INFINITY
    ? 'The service is in maintenance; try again later'
    : `The service is in maintenance until ${new Date(until).toISOString()}`
}
