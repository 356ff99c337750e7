import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'

export default fp(async function documentation(app) {
  await app.register(swagger, {
    hideUntagged: true,
    openapi: { info: { title: 'Tasks', description: 'Tasks of users', version: '1.0.0' } },
  })
  await app.register(swaggerUi, { routePrefix: '/api/docs' })
})
