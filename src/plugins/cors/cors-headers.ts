import { mergeVary } from '../../http/vary.js'
import { type MaybeAsync, withValue } from '../../maybe-async.js'

/** What may be allowed: all (`true` sends the origin of the request), none, or the origins that are equal or match. */
export type Allowed = boolean | string | RegExp | readonly (string | RegExp)[]

export type AskForAllowed = (origin: string) => MaybeAsync<Allowed>

export interface CorsPolicy {
  readonly origin: Allowed | AskForAllowed
  readonly credentials: boolean
  readonly exposed: string
}

export interface PreflightPolicy {
  readonly methods: readonly string[]
  readonly allowedHeaders: readonly string[] | undefined
  readonly maxAge: number
}

type Fields = Record<string, string>

// Browsers always expose seven others, such as `Cache-Control` (Fetch §3.2.6, CORS-safelisted response-header names).
const conventionHeaders: readonly string[] = [
  'Location',
  'Operation-Location',
  'Link',
  'ETag',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Deprecation',
  'Sunset',
  'Preference-Applied',
  'Idempotent-Replayed',
]

export function exposedHeaders(own: readonly string[]): string {
  const names = new Map<string, string>()
  for (const name of [...conventionHeaders, ...own]) {
    if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), name)
  }
  return [...names.values()].join(', ')
}

/** Whether responses differ by origin. They do not if one origin, or all, or none are allowed. */
export function variesByOrigin(origin: CorsPolicy['origin']): boolean {
  return typeof origin !== 'string' && origin !== false
}

export function allowedBy({ origin: allowed }: CorsPolicy, origin: string): MaybeAsync<Allowed> {
  return typeof allowed === 'function' ? withValue(allowed(origin), checkedAllowed) : allowed
}

/** Returns the header fields of a response (Fetch, CORS protocol), but `Vary`; none if nothing is allowed. */
export function corsFields(
  { credentials, exposed }: CorsPolicy,
  allowed: Allowed,
  origin: string | undefined,
): Fields {
  if (allowed === false) return {}
  const fields: Fields = {}
  const named = namedOrigin(allowed, origin)
  if (named !== undefined) fields['access-control-allow-origin'] = named
  if (credentials) fields['access-control-allow-credentials'] = 'true'
  fields['access-control-expose-headers'] = exposed
  return fields
}

/** @param requested `Access-Control-Request-Headers` of the request */
export function preflightFields(
  { methods, allowedHeaders, maxAge }: PreflightPolicy,
  requested: string | undefined,
  vary: string | undefined,
): Fields {
  const fields: Fields = { 'access-control-allow-methods': methods.join(', ') }
  if (allowedHeaders === undefined) fields.vary = mergeVary(vary, 'Access-Control-Request-Headers')
  const headers = allowedHeaders?.join(', ') ?? requested
  if (headers !== undefined) fields['access-control-allow-headers'] = headers
  fields['access-control-max-age'] = String(maxAge)
  // Some browsers wait for a body otherwise.
  fields['content-length'] = '0'
  return fields
}

/** Returns an expression that matches whole origins only. */
export function matchingWhole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, ''))
}

/** @throws Error if a function of the app has answered something else */
function checkedAllowed(allowed: Allowed): Allowed {
  if (allowed === false) return false
  if (!allowed) throw new Error('The function for cors.origin has returned neither origins nor false')
  if (allowed instanceof RegExp) return matchingWhole(allowed)
  return Array.isArray(allowed) ? (allowed as (string | RegExp)[]).map(wholeOrigin) : allowed
}

function wholeOrigin(one: string | RegExp): string | RegExp {
  return one instanceof RegExp ? matchingWhole(one) : one
}

function namedOrigin(allowed: Exclude<Allowed, false>, origin: string | undefined): string | undefined {
  if (typeof allowed === 'string') return allowed
  if (Array.isArray(allowed)) {
    if (allowed.includes('*')) return '*'
    return allowed.some((one) => isMatch(one, origin)) ? origin : undefined
  }
  return allowed === true || isMatch(allowed as RegExp, origin) ? origin : undefined
}

function isMatch(one: string | RegExp, origin: string | undefined): boolean {
  return typeof one === 'string' ? one === origin : origin !== undefined && one.test(origin)
}
