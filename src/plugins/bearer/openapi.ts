import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { DocumentOperation } from '../../schema/openapi.js'
import type { BearerOptions } from './options.js'

function securitySchemeOf({ issuer, introspection }: DescribedOptions) {
  return {
    type: 'http',
    scheme: 'bearer',
    // Tokens that the issuer is asked about may be opaque.
    ...(introspection === undefined ? { bearerFormat: 'JWT' } : {}),
    description: `An access token of ${issuer}, in Authorization: Bearer (RFC 6750)`,
  }
}

type DescribedOptions = Pick<BearerOptions, 'issuer' | 'introspection' | 'securityScheme'>

/** What the document shows of a route; `null` for a route that needs no token. */
export interface DescribedPlan {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
}

/** Adds the security requirement of a route, and the scheme that it names. What the app has itself stays. */
export function documentSecurity(options: DescribedOptions, plan: DescribedPlan | null): DocumentOperation {
  return (operation, { document, is30 }) => {
    const { securityScheme: name = 'bearer' } = options
    document.components ??= {}
    const schemes = { [name]: securitySchemeOf(options), ...document.components.securitySchemes }
    document.components.securitySchemes = schemes
    if (operation.security !== undefined) return operation
    // OpenAPI 3.0 §4.7.30 has scopes in two types only.
    const takesScopes = !is30 || schemes[name]?.type !== 'http'
    const required = plan === null ? [] : [{ [name]: takesScopes ? [...plan.scopes] : [] }]
    return { ...operation, security: plan?.isOptional === true ? [{}, ...required] : required }
  }
}

export function describeRefusals({ scopes, isOptional }: DescribedPlan): RouteDescription {
  return {
    problems: problemsOf({
      'authorization-malformed': 'The token is sent in more than one way',
      ...(isOptional ? {} : { unauthorized: 'There is no token' }),
      'invalid-token': 'The token is not valid',
      ...(scopes.length === 0
        ? {}
        : { 'insufficient-scope': `The token lacks a scope: ${scopes.join(' ')}` }),
      'authentication-unavailable': 'The token cannot be verified at the moment',
    }),
    headersOf: { 400: challenge, 401: challenge, 403: challenge },
  }
}

const challenge = {
  'WWW-Authenticate': { type: 'string', description: 'What a request needs (RFC 6750 §3)' },
}
