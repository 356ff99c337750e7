import fp from 'fastify-plugin'

export default fp(async function authentication(app) {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith('/api/v1/auth/login')) return
    if (!request.session.user) return reply.unauthorized('You must be authenticated to access this route.')
  })
})
