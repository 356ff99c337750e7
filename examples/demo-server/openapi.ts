import { createHash } from 'node:crypto'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { tokenHint } from './caller.js'
import { collections } from './collections/index.js'

/**
 * What browsers are told of the page: its own scripts, and no page around it. The package leaves pages alone, as the
 * policy of an API would break them.
 */
const pageHeaders = {
  'content-security-policy':
    "default-src 'self';img-src 'self' data:;style-src 'self' 'unsafe-inline';base-uri 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/**
 * The OpenAPI document at `/openapi.json` and a page to read and try it at `/docs`, where `/` leads; for the routes added
 * after it.
 */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Demo of fastify-conventions',
        version: '1.0.0',
        description: 'Users, their friends, what they order, subscribe to and pay for.',
      },
      tags: collections.map(({ name, description }) => ({ name, description })),
      components: {
        securitySchemes: {
          developmentToken: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'dev-user-<id>',
            description: `Who asks, for development only: ${tokenHint}`,
          },
        },
      },
      // Most routes need no token; one that is sent has to be of a user.
      security: [{}, { developmentToken: [] }],
    },
    refResolver: {
      // The names of the components are those of the schemas, not numbers.
      buildLocalReference: (schema, _base, _fragment, index) => String(schema.$id ?? `schema-${index}`),
    },
  })
  await app.register(async function mountPages(pages) {
    pages.addHook('onSend', async function finishPage(request, reply, payload) {
      reply.headers(pageHeaders)
      if (reply.statusCode !== 200 || typeof payload !== 'string') return payload
      const tag = `"${createHash('sha256').update(payload).digest('base64url')}"`
      reply.cacheControl({ noCache: true }).etag(tag)
      if (request.headers['if-none-match'] !== tag) return payload
      reply.code(304)
      return null
    })
    await pages.register(swaggerUi, { routePrefix: '/docs' })
    pages.get('/', { schema: { hide: true } }, function leadToDocs(_request, reply) {
      return reply.redirect('/docs')
    })
    pages.get('/openapi.json', { schema: { hide: true } }, function openApiDocument() {
      return app.swagger()
    })
  })
}
