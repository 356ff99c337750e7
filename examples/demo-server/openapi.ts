import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { clientIds, endpoints } from './authorization/clients.js'
import { scopes, userScopes } from './caller.js'
import { items } from './collections/index.js'

/** Name of the security scheme in the document. */
export const securityScheme = 'oauth'

/** Until when each version is provided at least: from that moment of UTC on it is a 410. */
export const provided = { 1: { sunset: '2032-01-01' } } as const

/** The routes of the page, which another plugin makes. */
export const openPages = [
  { url: '/docs', reason: 'the description of the API is public' },
  { url: '/docs/*', reason: 'the description of the API is public' },
]

/** What {@link describeApi} needs. */
export interface DescriptionOptions {
  /** Who issues the tokens. */
  readonly issuer: string
  /** Whether the issuer is part of the service. */
  readonly isEmbedded: boolean
  /** Version of OpenAPI. */
  readonly version: OpenApiVersion
}

/** The versions of OpenAPI in which the service can describe itself. */
export type OpenApiVersion = '3.0.3' | '3.1.0'

/**
 * What browsers are told of the page: its own scripts, requests to the issuer for a login, and no page around it. The
 * package leaves pages alone, as the policy of an API would break them.
 */
const pageHeaders = (issuer: string) => ({
  'content-security-policy':
    `default-src 'self';connect-src 'self' ${new URL(issuer).origin};img-src 'self' data:;` +
    "style-src 'self' 'unsafe-inline';base-uri 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})

/**
 * The OpenAPI document at `/openapi.json` and a page to read and try it at `/docs`; for the routes added after it.
 */
export async function describeApi(
  app: FastifyInstance,
  { issuer, isEmbedded, version }: DescriptionOptions,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: version,
      info: {
        title: 'Demo of fastify-conventions',
        version: '1.0.0',
        description: `Users, their friends, what they order, subscribe to and pay for.

Version 1, below \`/v1\`, is provided until ${provided[1].sunset}, as \`Sunset\` says in each response (RFC 8594). A successor is announced a year before, by \`Deprecation\` (RFC 9745) and \`Link\`.`,
        contact: {
          name: 'fastify-conventions',
          url: 'https://example.com/OWNER/fastify-conventions/issues',
        },
      },
      servers: [{ url: '/', description: 'The service that this document is read from' }],
      tags: [
        ...Object.entries(items).map(([name, { description }]) => ({ name, description })),
        { name: 'operations', description: 'Work that takes long' },
        { name: 'terms', description: 'The terms of service' },
      ],
      components: {
        // Otherwise the one that `bearer` adds.
        securitySchemes: isEmbedded ? { [securityScheme]: flowsOf(issuer) } : {},
      },
    },
    refResolver: {
      // The names of the components are those of the schemas, not numbers.
      buildLocalReference: (schema, _base, _fragment, index) =>
        String(schema.title ?? schema.$id ?? `schema-${index}`),
    },
  })
  const headers = pageHeaders(issuer)
  await app.register(async function mountPages(pages) {
    pages.addHook('onSend', async function sendPageHeaders(_request, reply, payload) {
      reply.headers(headers)
      return payload
    })
    await pages.register(swaggerUi, {
      routePrefix: '/docs',
      uiConfig: { requestInterceptor: addXsrfToken },
      initOAuth: {
        clientId: clientIds.app,
        scopes: [...userScopes],
        usePkceWithAuthorizationCodeGrant: true,
        // Who was logged in before is asked again: the next one may be another user.
        additionalQueryStringParams: { prompt: 'login' },
      },
    })
    pages.get(
      '/openapi.json',
      { schema: { hide: true }, config: { bearer: false } },
      function openApiDocument() {
        return app.swagger()
      },
    )
  })
}

/** Runs in the page. A session of a cookie needs the token for each unsafe method. */
function addXsrfToken<Sent extends object>(request: Sent): Sent {
  const { document } = globalThis as unknown as { readonly document: { readonly cookie: string } }
  const token = /(?:^|; )(?:__Host-)?XSRF-TOKEN=([^;]*)/.exec(document.cookie)?.[1]
  const { headers } = request as { readonly headers?: object }
  if (token !== undefined) Object.assign(headers ?? {}, { 'X-XSRF-TOKEN': token })
  return request
}

/** How a client gets a token of the embedded authorization server. */
function flowsOf(issuer: string) {
  const tokenUrl = issuer + endpoints.token
  return {
    type: 'oauth2',
    description:
      'Users log in by one click. A program has an id and a secret: the demo prints them when it starts.',
    flows: {
      authorizationCode: {
        authorizationUrl: issuer + endpoints.authorization,
        tokenUrl,
        scopes: { ...scopes },
      },
      clientCredentials: { tokenUrl, scopes: { ...scopes } },
    },
  } as const
}
