import { problemsOf, type RouteDescription } from '../../problem/route-description.js'

/** The refusal of responses that break a rule, for the OpenAPI document. */
export const describeRefusal: RouteDescription = {
  problems: problemsOf({ 'response-invalid': 'The response would have broken a rule' }),
}
