import type { FastifyInstance } from 'fastify'
import type { Finding } from '../report/findings.js'
import { reporterOf } from '../report/report.js'
import { isWithin } from './contexts.js'
import { routesOf } from './declared-routes.js'

/** Another plugin, which does the same as a convention. */
export interface Neighbour {
  readonly name: string
  isIn(app: FastifyInstance): boolean
}

/** The decorator that @fastify/cors adds to requests. */
export const corsDecorator = 'corsPreflightEnabled'

export const fastifyCors: Neighbour = {
  name: '@fastify/cors',
  isIn: (app) => app.hasRequestDecorator(corsDecorator),
}

export const fastifyHelmet: Neighbour = {
  name: '@fastify/helmet',
  isIn: (app) => app.hasReplyDecorator('helmet'),
}

export type OverlapFinding = Pick<Finding, 'plugin' | 'problem' | 'instead'>

/** Adds a finding where another plugin is in a context or below it, whichever is registered first. */
export function watchNeighbour(
  app: FastifyInstance,
  { name, isIn }: Neighbour,
  { plugin, problem, instead }: OverlapFinding,
): void {
  const reporter = reporterOf(app)
  reporter.checkAtReady(() => {
    const declared = routesOf(app).declared.filter((route) => isWithin(route.app, app))
    const contexts = [...new Set([app, ...declared.map((route) => route.app)])].filter(isIn)
    const topmost = contexts.filter((one) => !contexts.some((other) => other !== one && isWithin(one, other)))
    for (const context of topmost) {
      const routes = declared.filter((one) => isWithin(one.app, context)).map((one) => one.name)
      const route = routes.length === declared.length ? '(all)' : summary(routes)
      reporter.addFinding(
        { plugin, rule: 'overlap', route, mode: 'report', problem: `${name} ${problem}`, instead },
        'none',
      )
    }
  })
}

/** Adds a finding for each plugin that sets header fields and is registered later: hooks do not run for what is refused. */
export function watchOrder(app: FastifyInstance): void {
  const reporter = reporterOf(app)
  for (const { name, isIn } of [fastifyCors, fastifyHelmet]) {
    if (isIn(app)) continue
    reporter.checkAtReady(() => {
      if (!isIn(app)) return
      const finding = { plugin: 'conventions', rule: 'order', route: '(all)', mode: 'report' } as const
      const problem = `${name} is registered after the conventions: what they refuse lacks its header fields`
      reporter.addFinding({ ...finding, problem, instead: `register ${name} before the conventions` }, 'none')
    })
  }
}

const maxRoutes = 3

function summary(routes: readonly string[]): string {
  const more = routes.length - maxRoutes
  return routes.slice(0, maxRoutes).join('; ') + (more > 0 ? ` and ${more} more` : '')
}
