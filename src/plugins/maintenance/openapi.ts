import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

/** The response of a route during a maintenance, for the OpenAPI document. */
export const duringMaintenance: RouteDescription = {
  problems: problemsOf({ maintenance: 'The service is in maintenance' }),
  headersOf: {
    503: { 'Retry-After': { type: 'string', description: 'Seconds, or the time, after which to try again' } },
  },
}
