import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Finding } from '../report/findings.js'
import { reporterOf } from '../report/report.js'
import { isWithin } from './contexts.js'
import { routesOf } from './declared-routes.js'
import type { RequestStep, Steps } from './steps.js'

/** Another plugin, which does the same as a convention. */
export interface Neighbour {
  /** Name of its package. */
  readonly name: string
  /** Whether a context has it. */
  isIn(app: FastifyInstance): boolean
}

/** What the report says of a neighbour. */
export type OverlapFinding = Pick<Finding, 'plugin' | 'problem' | 'instead'>

/** Adds a finding where another plugin is in a context or below it, whichever is registered first. */
export function watchNeighbour(
  app: FastifyInstance,
  { name, isIn }: Neighbour,
  { plugin, problem, instead }: OverlapFinding,
): void {
  const reporter = reporterOf(app)
  reporter.checkAtReady(() => {
    const declared = routesOf(app).declared.filter(({ context }) => isWithin(context, app))
    const contexts = [...new Set([app, ...declared.map(({ context }) => context)])].filter(isIn)
    const topmost = contexts.filter((one) => !contexts.some((other) => other !== one && isWithin(one, other)))
    for (const context of topmost) {
      const routes = declared.filter((one) => isWithin(one.context, context)).map((one) => one.name)
      const route = routes.length === declared.length ? '(all)' : summary(routes)
      reporter.addFinding(
        { plugin, rule: 'overlap', route, mode: 'report', problem: `${name} ${problem}`, instead },
        'none',
      )
    }
  })
}

const maxRoutes = 3

function summary(routes: readonly string[]): string {
  const more = routes.length - maxRoutes
  return routes.slice(0, maxRoutes).join('; ') + (more > 0 ? ` and ${more} more` : '')
}

/** Whether a request is a CORS preflight (Fetch §4.8). Other `OPTIONS` have nothing to do with CORS. */
export function isPreflight({ raw: { method, headers } }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** Returns the steps of a convention that does not apply to the preflights which @fastify/cors answers. */
export function besideCors(step: RequestStep, isServed: boolean): Pick<Steps, 'onRequest' | 'lastOnRequest'> {
  return {
    onRequest: (request, reply) =>
      mayBeAnswered(request) && !request.is404 ? undefined : step(request, reply),
    // The hook of @fastify/cors has left this preflight to the route.
    ...(isServed && {
      lastOnRequest: (request, reply) => (mayBeAnswered(request) ? step(request, reply) : undefined),
    }),
  }
}

/** Whether a request is a preflight in a context with @fastify/cors, which has a decorator. */
function mayBeAnswered(request: FastifyRequest): boolean {
  return isPreflight(request) && 'corsPreflightEnabled' in request
}
