import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { collections } from './collections/index.js'

/** The OpenAPI document at `/openapi.json` and a page to read and try it at `/docs`; for the routes added after it. */
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
    },
    refResolver: {
      // The names of the components are those of the schemas, not numbers.
      buildLocalReference: (schema, _base, _fragment, index) => String(schema.$id ?? `schema-${index}`),
    },
  })
  await app.register(swaggerUi, { routePrefix: '/docs' })
  app.get('/openapi.json', { schema: { hide: true } }, function openApiDocument() {
    return app.swagger()
  })
}
