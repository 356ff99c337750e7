import type { FastifySchema } from 'fastify'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { BearerOptions } from './options.js'

/** An OpenAPI security scheme (OpenAPI 3.1 §4.8.27). */
export interface OpenApiSecurityScheme {
  readonly type: 'openIdConnect'
  readonly openIdConnectUrl: string
  readonly description: string
}

/**
 * Returns the security scheme for `components.securitySchemes` of the OpenAPI document, to which the routes refer:
 *
 * ```ts
 * await app.register(swagger, { openapi: { components: { securitySchemes: bearerSecuritySchemes({ issuer }) } } })
 * ```
 *
 * Its type is `openIdConnect`, in which OpenAPI 3.0 and 3.1 allow scopes. A scheme of your own needs the same name.
 */
export function bearerSecuritySchemes({
  issuer,
  securityScheme = 'bearer',
}: Pick<BearerOptions, 'issuer' | 'securityScheme'>): Readonly<Record<string, OpenApiSecurityScheme>> {
  return {
    [securityScheme]: {
      type: 'openIdConnect',
      openIdConnectUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      description: `An access token of ${issuer}, in Authorization: Bearer (RFC 6750)`,
    },
  }
}

/** What the document shows of a route; `null` for a route that needs no token. */
export interface DescribedPlan {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
}

/**
 * Returns the schema of a route with its security requirement. One that the route has itself stays.
 *
 * @param name the security scheme; `null` if the document has none, because @fastify/swagger fails then
 */
export function describeSecurity(
  schema: FastifySchema,
  name: string | null,
  plan: DescribedPlan | null,
): FastifySchema {
  if ('security' in schema || name === null) return schema
  // @fastify/swagger adds the member to the type.
  return { ...schema, security: plan === null ? [] : requirements(name, plan) } as FastifySchema
}

/** Returns the refusals of a route that takes tokens. */
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

/** A security requirement: the scopes by the name of the scheme. */
type Requirement = Readonly<Record<string, readonly string[]>>

function requirements(name: string, { scopes, isOptional }: DescribedPlan): readonly Requirement[] {
  return [...(isOptional ? [{}] : []), { [name]: [...scopes] }]
}

/** What @fastify/swagger passes to the transform of a route. */
interface TransformInput {
  readonly schema: unknown
  readonly url: string
  readonly openapiObject?: { components?: { securitySchemes?: Record<string, unknown> } }
}

/**
 * Returns the `swaggerTransform` of a route (@fastify/swagger) that adds a security scheme to the document, unless it has
 * one of this name. It runs for hidden routes, too.
 *
 * @param onAdded called when the document has the scheme
 */
export function schemeTransform(issuer: string, securityScheme: string, onAdded: () => void) {
  return function addSecurityScheme({ schema, url, openapiObject }: TransformInput) {
    if (openapiObject !== undefined) {
      openapiObject.components ??= {}
      const { securitySchemes } = openapiObject.components
      const added = bearerSecuritySchemes({ issuer, securityScheme })
      openapiObject.components.securitySchemes = { ...added, ...securitySchemes }
      onAdded()
    }
    return { schema, url }
  }
}
