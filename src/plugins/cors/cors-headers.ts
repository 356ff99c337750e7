import type { MaybeAsync } from '../../maybe-async.js'

/** Whether an origin may read responses. */
export type IsAllowed = (origin: string) => MaybeAsync<boolean>

export interface CorsPolicy {
  /** The origin that all responses name, or `*`; a function if they differ by origin. */
  readonly allowed: string | IsAllowed
  readonly credentials: boolean
  readonly exposed: string
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
  const known = new Set(conventionHeaders.map((name) => name.toLowerCase()))
  return [...conventionHeaders, ...own.filter((name) => !known.has(name.toLowerCase()))].join(', ')
}

/** Returns a function for origins that differ, or the one that all responses name. */
export function allowedBy(origin: string | RegExp | readonly (string | RegExp)[]): CorsPolicy['allowed'] {
  if (typeof origin === 'string') return origin
  const allowed = [origin].flat().map((one) => (typeof one === 'string' ? one : matchingWhole(one)))
  return (origin) => allowed.some((one) => (typeof one === 'string' ? one === origin : one.test(origin)))
}

function matchingWhole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, ''))
}

/** Returns the header fields of a response that a page of the origin may read (Fetch, CORS protocol), but `Vary`. */
export function corsFields({ credentials, exposed }: CorsPolicy, origin: string): Fields {
  return {
    'access-control-allow-origin': origin,
    ...(credentials && { 'access-control-allow-credentials': 'true' }),
    'access-control-expose-headers': exposed,
  }
}

/** @param requested `Access-Control-Request-Headers` of the preflight */
export function preflightFields(requested: string | undefined): Fields {
  return {
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    ...(requested !== undefined && { 'access-control-allow-headers': requested }),
    // Chromium keeps it for two hours at most.
    'access-control-max-age': '7200',
    // Some browsers wait for a body otherwise.
    'content-length': '0',
  }
}
