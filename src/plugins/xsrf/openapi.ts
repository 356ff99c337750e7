import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

/**
 * Returns what is asked of requests that a cookie authenticates, for the OpenAPI document: the header of the token for unsafe
 * methods, and 403. The header is optional, because other clients do not need it.
 *
 * @param header the name of the token's header; `null` if the route needs no token
 */
export function describeXsrf(header: string | null): RouteDescription {
  return {
    problems: problemsOf({
      'requested-with-missing': read,
      ...(header === null ? {} : { 'xsrf-token-invalid': write }),
    }),
    ...(header === null
      ? {}
      : { parameters: { [header]: { schema: { type: 'string', description: token } } } }),
  }
}

const token = 'The XSRF token of the session; required if a cookie authenticates the request'
const write = 'A cookie authenticates the request, which is from another origin or has no valid XSRF token'
const read = 'A cookie authenticates the request, which may be for an element of a page of another origin'
