import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { clientIds } from './authorization.js'
import { scopes, userScopes } from './caller.js'
import { items } from './collections/index.js'
import { pageHeaders } from './pages.js'

export const securityScheme = 'oauth'

/** Until when each version is provided at least: from that moment of UTC on it is a 410. */
export const provided = { 1: { sunset: '2032-01-01' } } as const

export const openPages = [
  { url: '/docs', reason: 'the description of the API is public' },
  { url: '/docs/*', reason: 'the description of the API is public' },
]

export interface DescriptionOptions {
  readonly issuer: string
  readonly isEmbedded: boolean
  readonly version: OpenApiVersion
}

export type OpenApiVersion = '3.0.3' | '3.1.0'

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
        contact: { name: 'fastify-conventions' },
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
  })
  // Its own scripts, and requests to the issuer for a login.
  const headers = pageHeaders(
    `default-src 'self';connect-src 'self' ${new URL(issuer).origin};img-src 'self' data:;style-src 'self' 'unsafe-inline'`,
    'no-referrer',
  )
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
  const tokenUrl = `${issuer}/oauth/token`
  return {
    type: 'oauth2',
    description:
      'Users log in by one click. A program has an id and a secret: the demo prints them when it starts.',
    flows: {
      authorizationCode: {
        authorizationUrl: `${issuer}/oauth/authorize`,
        tokenUrl,
        scopes: { ...scopes },
      },
      clientCredentials: { tokenUrl, scopes: { ...scopes } },
    },
  } as const
}
