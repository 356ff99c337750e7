import fastifyPlugin from 'fastify-plugin'

export default fastifyPlugin(async function tenant(app) {
  app.decorateRequest('tenant', 'a')
  app.addHook('onSend', async (request, reply) => void reply.header('x-tenant', request.tenant))
})
