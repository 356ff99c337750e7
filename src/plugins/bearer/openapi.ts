import type { FastifySchema } from 'fastify'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { BearerOptions, ResolvedBearer } from './options.js'

/** An OpenAPI security scheme (OpenAPI 3.1 §4.8.27). */
export interface OpenApiSecurityScheme {
  readonly type: 'http'
  readonly scheme: 'bearer'
  readonly bearerFormat?: 'JWT'
  readonly description: string
}

/**
 * Returns the security scheme for `components.securitySchemes` of the OpenAPI document, to which the routes refer:
 *
 * ```ts
 * await app.register(swagger, { openapi: { components: { securitySchemes: bearerSecuritySchemes({ issuer }) } } })
 * ```
 *
 * A page such as Swagger UI asks for a token. If the issuer has metadata of OpenID Connect, or flows that a page can use, write
 * a scheme of the type `openIdConnect` or `oauth2` of your own, with the same name.
 */
export function bearerSecuritySchemes({
  issuer,
  securityScheme = 'bearer',
  introspection,
}: Pick<BearerOptions, 'issuer' | 'securityScheme' | 'introspection'>): Readonly<
  Record<string, OpenApiSecurityScheme>
> {
  return {
    [securityScheme]: {
      type: 'http',
      scheme: 'bearer',
      // Tokens that the issuer is asked about may be opaque.
      ...(introspection === undefined ? { bearerFormat: 'JWT' } : {}),
      description: `An access token of ${issuer}, in Authorization: Bearer (RFC 6750)`,
    },
  }
}

export interface KnownScheme {
  readonly name: string
  readonly takesScopes: boolean
}

/** What the document shows of a route; `null` for a route that needs no token. */
export interface DescribedPlan {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
}

/** Returns the schema of a route with its security requirement. One that the route has itself stays. */
export function describeSecurity(
  schema: FastifySchema,
  scheme: KnownScheme | null,
  plan: DescribedPlan | null,
): FastifySchema {
  if ('security' in schema || scheme === null) return schema
  const { name, takesScopes } = scheme
  const security =
    plan === null ? [] : [...(plan.isOptional ? [{}] : []), { [name]: takesScopes ? [...plan.scopes] : [] }]
  // @fastify/swagger adds the member to the type.
  return { ...schema, security } as FastifySchema
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

/** What @fastify/swagger passes to the transform of a route. */
interface TransformInput {
  readonly schema: unknown
  readonly url: string
  readonly openapiObject?: {
    readonly openapi?: string
    components?: { securitySchemes?: Record<string, { readonly type?: string }> }
  }
}

/** Returns a `swaggerTransform` that adds a security scheme to the document, unless it has one of this name. */
export function schemeTransform(
  options: Pick<BearerOptions, 'issuer' | 'introspection'>,
  name: string,
  onAdded: (scheme: KnownScheme) => void,
) {
  return function addSecurityScheme({ schema, url, openapiObject }: TransformInput) {
    if (openapiObject !== undefined) {
      openapiObject.components ??= {}
      const securitySchemes = {
        ...bearerSecuritySchemes({ ...options, securityScheme: name }),
        ...openapiObject.components.securitySchemes,
      }
      openapiObject.components.securitySchemes = securitySchemes
      // OpenAPI 3.0 §4.7.30 has scopes in two types only.
      const isOldHttp = securitySchemes[name]?.type === 'http' && openapiObject.openapi?.startsWith('3.0')
      onAdded({ name, takesScopes: isOldHttp !== true })
    }
    return { schema, url }
  }
}

/** Returns the URL of the metadata of a resource (RFC 9728 §3.1). */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname, search } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}${search}`
}

/** Returns the metadata of a resource as JSON (RFC 9728 §2). */
export function resourceMetadata({ resource, issuer }: ResolvedBearer, scopes: readonly string[]): string {
  const supported = [...new Set(scopes)].sort()
  return JSON.stringify({
    resource,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    ...(supported.length === 0 ? {} : { scopes_supported: supported }),
  })
}
