import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

/**
 * Returns the responses and header fields of a route with quotas, for the OpenAPI document.
 *
 * @param mayBeUnavailable whether requests are refused while the store of the quotas cannot be reached
 */
export function describeQuotas(mayBeUnavailable: boolean): RouteDescription {
  return {
    allHeaders: {
      'RateLimit-Policy': {
        type: 'string',
        description: 'The quotas (draft-ietf-httpapi-ratelimit-headers)',
      },
      RateLimit: { type: 'string', description: 'What is left of the quotas' },
    },
    problems: problemsOf({
      'quota-exceeded': 'The caller has sent too many requests',
      ...(mayBeUnavailable ? { 'quota-unavailable': 'Requests cannot be counted at the moment' } : {}),
    }),
    headersOf: { 429: retryAfter, 503: retryAfter },
  }
}

const retryAfter = {
  'Retry-After': { type: 'string', description: 'Seconds, or the time, after which to try again' },
}
