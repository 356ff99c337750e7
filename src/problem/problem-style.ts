import type { FastifyInstance, FastifyRequest } from 'fastify'
import { appSlot, routeSlot } from '../fastify/slots.js'
import { defaultTypeBase } from './problem-document.js'

/** Who answers what this package refuses: the package itself, or the error handler of the route's scope. */
export type RefusalsAnsweredBy = 'answer' | 'errorHandler'

/** How problems are written. */
export interface ProblemStyle {
  /** What the `type` of a problem begins with. */
  readonly typeBase: string
  /** Seconds in the `Retry-After` of a 503 that has none. */
  readonly retryAfter: number
  readonly refusals: RefusalsAnsweredBy
}

/** The style of a context in which the plugin `problems` is not registered. */
export const defaultStyle: ProblemStyle = Object.freeze({
  typeBase: defaultTypeBase,
  retryAfter: 5,
  refusals: 'answer',
})

const styles = appSlot<ProblemStyle>('problemStyle')

/** Who answers what is refused on a route. */
export const refusalsOfRoute = routeSlot<RefusalsAnsweredBy>('refusals')

/** Sets the style of problems in a context and in those below it. */
export function declareStyle(app: FastifyInstance, style: ProblemStyle): void {
  styles.set(app, style)
}

/** Returns the style of problems in a context: its own, that of a context above it, else the default. */
export function styleOf(app: FastifyInstance): ProblemStyle {
  return styles.get(app) ?? defaultStyle
}

/** Returns what the `type` of problems begins with in a context. */
export function typeBaseOf(app: FastifyInstance): string {
  return styleOf(app).typeBase
}

/** Returns who answers what is refused of a request: as its route says, else as its context does. */
export function refusalsOf(request: FastifyRequest): RefusalsAnsweredBy {
  return refusalsOfRoute.of(request) ?? styleOf(request.server).refusals
}
