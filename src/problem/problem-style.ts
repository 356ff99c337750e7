import type { FastifyInstance, FastifyRequest } from 'fastify'
import { appSlot, routeSlot } from '../fastify/slots.js'
import { defaultTypeBase } from './problem-document.js'

/** Who answers refused requests: this package, or the error handler of the route. */
export type RefusalsAnsweredBy = 'answer' | 'errorHandler'

/** The options of a context that problem documents depend on. */
export interface ProblemStyle {
  /** The prefix of the `type` of a problem. */
  readonly typeBase: string
  /** Seconds in the `Retry-After` of a 503 without one. */
  readonly retryAfter: number
  readonly refusals: RefusalsAnsweredBy
  /** Names of members of an earlier error format that each problem has too. */
  readonly keepMembers: readonly string[]
}

/** The style of a context without the plugin `problems`. */
export const defaultStyle: ProblemStyle = Object.freeze({
  typeBase: defaultTypeBase,
  retryAfter: 5,
  refusals: 'answer',
  keepMembers: [],
})

const styles = appSlot<ProblemStyle>('problemStyle')

/** Who answers refused requests of a route. */
export const refusalsOfRoute = routeSlot<RefusalsAnsweredBy>('refusals')

/** Sets the style of problems in a context and in those below it. */
export function declareStyle(app: FastifyInstance, style: ProblemStyle): void {
  styles.set(app, style)
}

/** Returns the style of problems in a context: its own, that of a context above it, or the default. */
export function styleOf(app: FastifyInstance): ProblemStyle {
  return styles.get(app) ?? defaultStyle
}

/** Returns the prefix of the `type` of problems in a context. */
export function typeBaseOf(app: FastifyInstance): string {
  return styleOf(app).typeBase
}

/** Returns who answers a refused request, by its route or its context. */
export function refusalsOf(request: FastifyRequest): RefusalsAnsweredBy {
  return refusalsOfRoute.of(request) ?? styleOf(request.server).refusals
}
