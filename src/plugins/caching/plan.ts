import type { RouteContext } from '../../convention/convention.js'
import { callerFields } from '../../fastify/caller.js'
import { withPrivate } from '../../http/cache-control.js'
import { varyMerger } from '../../http/vary.js'
import { invalid, type OptionsOf, type ResolvedOptions } from '../../options.js'
import type { Mode } from '../../rules/modes.js'
import type { KeyStyle } from '../../words/key-names.js'
import { cacheControl, cacheControlFaults, judgeExpires } from './cache-control.js'
import type {
  CachingRouteOptions,
  CachingRule,
  cachingOptions,
  cachingRouteOptions,
  FindValidators,
  RouteValidators,
} from './options.js'
import { type ConditionalRequest, isRead } from './preconditions.js'

interface RouteFunctions {
  isAuthenticated(request: ConditionalRequest): boolean
  validatorsOf(answer: object, request: ConditionalRequest): RouteValidators | null | undefined
}

/** What the steps of a route do, decided at boot. */
export interface CachingPlan {
  readonly mode: Mode
  /** `Cache-Control` of responses to requests without and with credentials; `null` for none. */
  readonly cacheControl: string | null
  readonly privateCacheControl: string | null
  /** Whether `cacheControl` is the route's own. */
  readonly isOfRoute: boolean
  /** Whether a cache may store the response. */
  readonly isStored: boolean
  /** Whether shared caches may use one response for several callers: `public`, `s-maxage` (RFC 9111 §3.5). */
  readonly isShared: boolean
  /** Whether `no-store` overrides the `Cache-Control` of the handler. */
  readonly isConfidential: boolean
  /** `Expires`, and the same in milliseconds since the epoch; it is not sent after that time. */
  readonly expires: { readonly value: string; readonly at: number } | null
  /** The `ETag` that is made from the bytes of a response without one. */
  readonly etag: 'strong' | 'weak' | false
  /** Whether an empty payload is the whole representation, and so gets an `ETag` too. */
  readonly tagsEmpty: boolean
  /** Member with the time of the last modification. */
  readonly lastModified: string | false
  /** Whether a 200 without `Last-Modified` is reported. */
  readonly reportsMissingDate: boolean
  readonly validators: FindValidators | null
  readonly validatorsOf: RouteFunctions['validatorsOf'] | null
  /** Whether a write without a precondition is a 428. */
  readonly isPreconditionRequired: boolean
  readonly isAuthenticated: RouteFunctions['isAuthenticated']
  /** Returns what adds the names to `Vary` that responses depend on, with `Accept-Encoding` or without. */
  vary(): { readonly plain: AddToVary | null; readonly compressed: AddToVary }
  readonly now: () => number
}

type AddToVary = ReturnType<typeof varyMerger>

/** A route, as a plan is made of it. */
type Route = Pick<
  RouteContext<
    ResolvedOptions<typeof cachingOptions> & OptionsOf<typeof cachingRouteOptions>,
    CachingRule,
    unknown
  >,
  'methods' | 'route' | 'modeOf' | 'options' | 'isHeadSibling'
> & { readonly keyStyle: KeyStyle }

/** Returns the plan of a route. */
export function planOf({ methods, route, modeOf, options, isHeadSibling, keyStyle }: Route): CachingPlan {
  const given = options.confidential === true ? { noStore: true } : options.cacheControl
  const own = (route?.config?.caching ?? {}) as CachingRouteOptions
  const written = given === false ? '' : cacheControl(given)
  const isStored = given === false || given.noStore !== true
  const lastModified = options.lastModified ?? (keyStyle === 'camelCase' ? 'updatedAt' : 'updated_at')
  const judged = options.expires === undefined ? null : judgeExpires(options.expires, options.now())
  const reads = methods.some(isRead)
  let vary: ReturnType<CachingPlan['vary']> | undefined
  return Object.freeze({
    mode: options.mode,
    cacheControl: written === '' ? null : written,
    privateCacheControl: written === '' ? null : withPrivate(written),
    isOfRoute: own.cacheControl !== undefined || options.confidential === true,
    isStored,
    isShared: given !== false && (given.public === true || given.sMaxAge !== undefined),
    isConfidential: options.confidential === true,
    expires:
      judged !== null && 'value' in judged ? { value: judged.value, at: Date.parse(judged.value) } : null,
    etag: isStored ? options.etag : false,
    // A handler of HEAD alone may send nothing where GET has a representation.
    tagsEmpty: methods.join() !== 'HEAD' || isHeadSibling,
    lastModified,
    reportsMissingDate: lastModified !== false && modeOf['last-modified'] === 'report',
    validators: options.validators ?? null,
    validatorsOf: options.validatorsOf ?? null,
    isPreconditionRequired: options.preconditions === 'required',
    isAuthenticated: options.isAuthenticated,
    vary() {
      // A plugin that is registered later may authenticate the route.
      vary ??= varyOf(
        route !== null && reads ? [...(options.vary ?? []), ...(callerFields.get(route) ?? [])] : [],
      )
      return vary
    },
    now: options.now,
  })
}

function varyOf(names: readonly string[]): ReturnType<CachingPlan['vary']> {
  const compressed = varyMerger([...names, 'accept-encoding'])
  return { plain: names.length === 0 ? null : varyMerger(names), compressed }
}

/** A finding of a route: the rule, what is wrong, and what to write instead. */
export type CachingFinding = readonly [rule: CachingRule, problem: string, instead: string]

/** Returns the findings of a route's options. */
export function findingsOf(
  plan: CachingPlan,
  own: CachingRouteOptions,
  name: string,
  reads: boolean,
  hidden: Readonly<Record<string, unknown>>,
): readonly CachingFinding[] {
  if (plan.isPreconditionRequired && plan.validators === null) {
    invalid(`${name} config.caching.preconditions`, "'optional', for the route has no validators", 'required')
  }
  const given = own.cacheControl === false ? undefined : own.cacheControl
  const findings = (given === undefined ? [] : cacheControlFaults(given)).map(
    (fault): CachingFinding => ['directives', `cacheControl: ${fault}`, 'directives without contradictions'],
  )
  if (plan.isConfidential && given !== undefined && given.noStore !== true)
    findings.push(['confidential', 'is confidential, but cacheControl allows storing', 'one of the two'])
  const { verdict } =
    own.expires === undefined ? { verdict: 'ok' as const } : judgeExpires(own.expires, plan.now())
  if (verdict !== 'ok')
    findings.push(['expires', `expires is ${expiresFaults[verdict]}`, 'a date within a year from now'])
  return reads ? [...findings, ...hiddenFindings(plan, hidden)] : findings
}

/** Returns the findings of a route that shared caches may store, if its requests are authenticated. */
export function callerFindings(fields: readonly string[] | undefined): readonly CachingFinding[] {
  if (fields === undefined || fields.length === 0) return []
  const problem =
    'callers are authenticated, and public or sMaxAge lets shared caches store their responses (RFC 9111 §3.5)'
  return [['confidential', problem, 'cacheControl without public and sMaxAge']]
}

const expiresFaults = {
  clamped: 'more than one year ahead',
  past: 'past',
  invalid: 'not an HTTP-date',
} as const

function hiddenFindings(
  { lastModified, isShared }: CachingPlan,
  hidden: Readonly<Record<string, unknown>>,
): readonly CachingFinding[] {
  const findings: CachingFinding[] = []
  if (lastModified !== false && Object.hasOwn(hidden, lastModified))
    findings.push([
      'hidden',
      `${lastModified} is hidden by config.fields, and Last-Modified shows it`,
      'caching: { lastModified: false }, or a member that is not hidden',
    ])
  const ofSome = Object.keys(hidden).filter((path) => hidden[path] !== true)
  if (isShared && ofSome.length > 0)
    findings.push([
      'hidden',
      `${ofSome.join(', ')} is hidden from some callers, and a shared cache answers all of them with one response`,
      'cacheControl without public and sMaxAge',
    ])
  return findings
}
