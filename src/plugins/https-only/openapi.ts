import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

/** The refusal of plain HTTP, for the OpenAPI document. */
export const plainRefused: RouteDescription = {
  problems: problemsOf({ 'https-required': 'The request was sent without TLS' }),
}
