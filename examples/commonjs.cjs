// CommonJS has no top-level await: the routes are a plugin that is registered after the conventions.
// node examples/commonjs.cjs
const Fastify = require('fastify')
const { conventions, ProblemError, serverOptions } = require('fastify-conventions')

const app = Fastify({ ...serverOptions(), logger: true })
const users = new Map([['ada', { id: 'ada', name: 'Ada Lovelace' }]])

app.register(conventions, { pathGuard: { params: 'any' }, lists: { idFormat: 'text' } })

app.register(async function routes(app) {
  const User = {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'string' }, name: { type: 'string' } },
  }

  app.get('/v1/users/:id', { schema: { response: { 200: User } } }, async (request) => {
    const user = users.get(request.params.id)
    if (user === undefined)
      throw new ProblemError('not-found', { detail: `There is no user ${request.params.id}` })
    return user
  })

  app.delete('/v1/users/:id', async (request, reply) => {
    users.delete(request.params.id)
    return reply.code(204).send()
  })
})

app.listen({ port: Number(process.env.PORT ?? 3000) }).catch((error) => {
  console.error(error.message)
  process.exit(1)
})
