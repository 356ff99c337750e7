import type { FastifyInstance, FastifyRequest } from 'fastify'
import { appSlot, routeSlot } from '../fastify/slots.js'
import { defaultTypeBase } from './problem-document.js'

/** Who answers refused requests: this package, or the error handler of the route. */
export type RefusalsAnsweredBy = 'answer' | 'errorHandler'

export interface ProblemStyle {
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

export const refusalsOfRoute = routeSlot<RefusalsAnsweredBy>('refusals')

export function declareStyle(app: FastifyInstance, style: ProblemStyle): void {
  styles.set(app, style)
}

/** Returns the style of problems in a context: its own, that of a context above it, or the default. */
export function styleOf(app: FastifyInstance): ProblemStyle {
  return styles.get(app) ?? defaultStyle
}

export function typeBaseOf(app: FastifyInstance): string {
  return styleOf(app).typeBase
}

export function refusalsOf(request: FastifyRequest): RefusalsAnsweredBy {
  return refusalsOfRoute.of(request) ?? styleOf(request.server).refusals
}
