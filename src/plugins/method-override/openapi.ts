import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { MethodOverrideOptions } from './options.js'

/**
 * Returns how a route takes part in overrides, for the OpenAPI document: the header field on a route that a POST may be
 * performed as, and the refusals on a route with POST. `null` for other routes.
 */
export function describeOverride(
  methods: readonly string[],
  { methods: targets, header }: Required<Pick<MethodOverrideOptions, 'methods' | 'header'>>,
): RouteDescription | null {
  const performed = methods.filter((method) => targets.includes(method))
  if (performed.length > 0) {
    const description =
      'For clients that can only send POST: send POST to this path, with the method in this field'
    return { parameters: { [header]: { schema: { type: 'string', enum: performed, description } } } }
  }
  if (!methods.includes('POST')) return null
  return {
    problems: problemsOf({
      'method-override-invalid': `${header} names no method that a POST may be performed as`,
      'method-not-allowed': `The path has no route for the method in ${header}`,
    }),
    headersOf: {
      405: { Allow: { type: 'string', description: 'The methods of the path (RFC 9110 §10.2.1)' } },
    },
  }
}
