import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import { createJsonSchemaTransform, hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import mercurius from 'mercurius'
import { books } from './books.mjs'
import { resolvers, schema } from './graphql.mjs'

/** A library: GraphQL for its pages, and some routes for others. */
export default async function build() {
  const app = Fastify()
  app.setErrorHandler((error, request, reply) => {
    if (hasZodFastifySchemaValidationErrors(error)) {
      const issues = error.validation.map(({ instancePath, message }) => ({ path: instancePath, message }))
      return reply.code(422).send({ error: 'invalid input', issues })
    }
    request.log.error(error)
    return reply.code(error.statusCode ?? 500).send({ error: error.message })
  })

  await app.register(swagger, {
    openapi: { info: { title: 'Library', version: '1.0.0' } },
    transform: createJsonSchemaTransform({ skipList: ['/graphql'] }),
  })
  app.register(mercurius, { schema, resolvers, graphiql: true, errorHandler: true })
  app.register(books, { prefix: '/rest' })
  app.get('/healthz', async () => ({ ok: true }))
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  return app
}
