import fp from 'fastify-plugin'

export default fp(async function authentication(app) {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith('/api/v1/auth/login')) return
    if (!request.session.user) return reply.unauthorized('You must be authenticated to access this route.')
  })
  app.decorateRequest('mustBeAdmin', function mustBeAdmin() {
    if (!this.session.user.roles.includes('admin')) throw app.httpErrors.forbidden('You are not authorized.')
  })
})
