import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPreflight } from '../../fastify/preflight.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'
import type { MaintenanceOptions, MaintenanceRouteOptions } from './options.js'
import { retryAfterField } from './retry-after.js'
import type { Maintenance } from './state.js'

/** Returns the hooks that refuse or count requests during maintenance. */
export function maintenanceHooks(
  maintenance: Maintenance,
  options: Required<MaintenanceOptions>,
  reporter: Reporter,
) {
  /** Returns why a request is refused before any other check; `null` if it is not. */
  function earlyRefusal(request: FastifyRequest): ProblemError | null {
    if (!maintenance.mayBeActive || modeOf(request, options.mode) !== 'enforce') return null
    return currentProblem(maintenance, options)
  }

  function refuseInMaintenance(
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    const isExempt = !maintenance.mayBeActive || isAnsweredPreflight(request)
    const mode = isExempt ? 'off' : modeOf(request, options.mode)
    const problem = mode === 'off' ? null : currentProblem(maintenance, options)
    if (problem !== null && mode === 'enforce') {
      refuse(request, reply, problem, next)
      return
    }
    if (problem !== null) {
      const example = `${request.method} while in maintenance`
      reporter.observe('maintenance', 'refusal', request, example, problem.statusCode)
    }
    next()
  }

  return { earlyRefusal, refuseInMaintenance }
}

/** Returns the mode of the request's route. */
function modeOf(request: FastifyRequest, defaultMode: Mode): Mode {
  const own = request.routeOptions.config?.maintenance as MaintenanceRouteOptions | false | undefined
  return own === false ? 'off' : (own?.mode ?? defaultMode)
}

function currentProblem(
  maintenance: Maintenance,
  { now, retryAfter, retryAfterFormat, jitter, random }: Required<MaintenanceOptions>,
): ProblemError | null {
  const moment = now()
  const claim = maintenance.claimAt(moment)
  if (claim === null) return null
  const until = claim.until === Number.POSITIVE_INFINITY ? null : claim.until
  const field = retryAfterField({
    now: moment,
    until,
    fallback: claim.retryAfter ?? retryAfter,
    jitter: jitter === 0 ? 0 : Math.floor(random() * (jitter + 1)),
    format: retryAfterFormat,
  })
  const end = until === null ? '; try again later' : ` until ${new Date(until).toISOString()}`
  return new ProblemError('maintenance', {
    detail: claim.reason ?? `The service is in maintenance${end}`,
    headers: { 'retry-after': field, 'cache-control': 'no-store' },
  })
}

/**
 * Whether @fastify/cors answers the request, a CORS preflight. A page cannot read a 503 to a preflight: browsers report a
 * network error. If @fastify/cors is registered first, its preflights do not get here.
 */
function isAnsweredPreflight(request: FastifyRequest): boolean {
  return 'corsPreflightEnabled' in request && isPreflight(request)
}
