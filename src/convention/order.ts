import { kept } from '../kept.js'
import type { Steps } from './steps.js'

/** Stands in {@link order} for the hooks that the app adds with `app.addHook()`. */
const appHooks = 'hooks of the app'

/** Stands in {@link order} for the hooks in the options of a route, and for those that `onRoute` hooks add to it. */
const routeHooks = 'hooks of the route'

/** The order of a request: the conventions that have a step in each phase, and the hooks of the app among them. */
export const order = {
  onRequest: [
    'cors',
    'securityHeaders',
    'httpsOnly',
    'maintenance',
    'problems',
    'rateLimit',
    'pathGuard',
    'methodOverride',
    'versions',
    'bearer',
    'xsrf',
    appHooks,
    routeHooks,
    // An anonymous request is a 401, whatever it accepts.
    'problems:last',
  ],
  preParsing: [
    appHooks,
    'selfAlias',
    routeHooks,
    // A hook of the route may decode the content. A request that is refused counts for maintenance and quota.
    'problems',
    // The bytes of the body, decoded.
    'idempotency',
    'integerTwins',
  ],
  preValidation: [
    appHooks,
    // A token in a form is known once the body is parsed.
    'xsrf',
    'formats',
    'lists',
    'methodOverride',
    routeHooks,
    // Right before validation: the hooks of the app see the request as it came.
    'fields',
    'integerTwins',
  ],
  preHandler: [
    appHooks,
    'selfAlias',
    'integerTwins',
    routeHooks,
    'fields',
    // Before caching: the replay of a PUT with If-Match must not become a 412 because the first request worked.
    'idempotency',
    // Last: what it answers must not overtake an authorization.
    'caching',
  ],
  preSerialization: [
    appHooks,
    'caching',
    routeHooks,
    'lists',
    'responseRules',
    'fields',
    'integerTwins',
    // Writes fields and twins in one pass. Last: it sees what the hooks of the app make of the payload.
    'serialization',
  ],
  onSend: [
    'problems',
    'cors',
    'securityHeaders',
    appHooks,
    // Before caching: each format has an entity tag of its own.
    'formats',
    // Before the hooks of the route: one that compresses leaves no bytes to make an entity tag of.
    'caching',
    'fields',
    routeHooks,
    // After the hooks of the route: one of them may replace the Link header.
    'versions',
    'selfAlias',
    // A hook of the route may have compressed the content, or set its length.
    'caching:last',
    // Last but one: the response as it is sent is what a repeated request gets.
    'idempotency',
    // The cookie with the token is of this response only, and depends on the cookies that the other hooks set.
    'xsrf',
  ],
  // Headers that an answer needs even if a hook of the phase onSend fails.
  onError: [appHooks, 'versions', 'caching', routeHooks],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** The conventions of this package: those of the table, and `operations`, which has no step. */
export const conventionNames: ReadonlySet<string> = new Set([
  ...Object.values(order)
    .flat()
    .filter((step) => /^\w+$/.test(step) && step !== 'serialization'),
  'operations',
])

/** A phase of a request in which a convention may have a step. */
export type Phase = keyof typeof order

export const phases = Object.keys(order) as Phase[]

export const sides = ['beforeApp', 'beforeRoute', 'afterRoute'] as const

/** A place among the hooks of a phase: before those of the app; before those of the route; after them. */
export type Side = (typeof sides)[number]

/**
 * Returns the rank of a step in its phase, and its side. A convention that the table does not have runs after those of
 * this package: before the hooks of the app in the phase `onRequest`, after those of the route in the others.
 */
export function placeOf(phase: Phase, step: string): { readonly rank: number; readonly side: Side } {
  const steps: readonly string[] = order[phase]
  const [ofApp, ofRoute] = [steps.indexOf(appHooks), steps.indexOf(routeHooks)]
  const known = steps.indexOf(step)
  const rank =
    known !== -1 ? known : phase === 'onRequest' && !step.endsWith(':last') ? ofApp - 0.5 : steps.length
  return { rank, side: rank < ofApp ? 'beforeApp' : rank < ofRoute ? 'beforeRoute' : 'afterRoute' }
}

export type Place = `${Phase} ${Side}`

export interface StepPlace {
  readonly member: keyof Steps
  readonly name: string
  readonly phase: Phase
  readonly rank: number
  readonly side: Side
  readonly place: Place
}

const phaseOf: Readonly<Record<keyof Steps, Phase>> = {
  onRequest: 'onRequest',
  lastOnRequest: 'onRequest',
  preParsing: 'preParsing',
  preValidation: 'preValidation',
  preHandler: 'preHandler',
  preSerialization: 'preSerialization',
  serialization: 'preSerialization',
  onSend: 'onSend',
  lastOnSend: 'onSend',
  onError: 'onError',
}

const placesByConvention = new Map<string, ReadonlyMap<string, StepPlace>>()

/** Returns where the steps of a convention run, by the members of its plan. */
export function placesOf(convention: string): ReadonlyMap<string, StepPlace> {
  return kept(placesByConvention, convention, () => {
    const members = Object.keys(phaseOf) as (keyof Steps)[]
    return new Map(members.map((member) => [member, stepPlaceOf(convention, member)]))
  })
}

function stepPlaceOf(convention: string, member: keyof Steps): StepPlace {
  const phase = phaseOf[member]
  const isLast = member.startsWith('last')
  const name = member === 'serialization' ? member : isLast ? `${convention}:last` : convention
  const { rank, side } = placeOf(phase, name)
  return { member, name, phase, rank, side, place: `${phase} ${side}` }
}
