/** @module For rules of your own team, with the guarantees of those of this package. Experimental: it may change in a minor release. */
import { flag, functionOf, integer, listOf, objectOf, oneOf, text } from '../options.js'

export { type Check, type DeclaredOptions, type Option, option, optional } from '../options.js'
export type { DescribedProblem, RouteDescription } from '../problem/route-description.js'
export { routeRuleOptions, ruleOptions } from '../report/modes.js'
export {
  type ConventionDefinition,
  type ConventionRegistration,
  convention,
  type RouteContext as ConventionRoute,
  type RoutePlan,
} from './convention.js'
export type { Answer, Effect as StepEffect, PayloadStep, RequestStep, StepResult, Steps } from './steps.js'

/** Checks of options: each throws an error that names the option, what was expected and what came. */
export const checks = Object.freeze({ flag, functionOf, integer, listOf, objectOf, oneOf, text })
