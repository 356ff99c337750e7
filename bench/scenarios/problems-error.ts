import Fastify, { type FastifyInstance } from 'fastify'
import { problems, serverOptions } from 'fastify-conventions'
import { presetApp } from '../fixtures/apps.js'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const unknownPath = {
  requests: [{ target: '/v1/nothings/42', headers: { accept: 'application/json' }, status: 404 }],
}
const invalid = {
  requests: [
    {
      method: 'POST',
      target: '/v1/users',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: '{"name":"Ada Lovelace","age":-1}',
      status: 400,
    },
  ],
}

const schema = {
  body: {
    type: 'object',
    required: ['name'],
    properties: { name: userSchema.properties.name, age: userSchema.properties.age },
  },
  response: { 201: userSchema },
}

/** Refusals cost CPU time too, and a scanner causes many of them. */
export default loadScenario({
  title: 'a 404 for a path without a route, and a 400 for a body that its schema refuses',
  baseline: 'bare404',
  requests: unknownPath.requests,
  sameBody: false,
  bounds: { problems404: { max: 1.5 } },
  variants: {
    bare404: { about: 'Fastify: 404', ...unknownPath, build: () => withRoute(Fastify()) },
    problems404: {
      about: 'problems alone: 404',
      ...unknownPath,
      build: async () => withRoute(await problemsApp()),
    },
    preset404: {
      about: 'all conventions with their defaults: 404',
      ...unknownPath,
      build: async () => withRoute(await presetApp()),
    },
    bare400: { about: 'Fastify: 400', ...invalid, build: () => withRoute(Fastify()) },
    problems400: {
      about: 'problems alone: 400',
      ...invalid,
      build: async () => withRoute(await problemsApp()),
    },
    preset400: {
      about: 'all conventions with their defaults: 400',
      ...invalid,
      build: async () => withRoute(await presetApp()),
    },
  },
})

async function problemsApp(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(problems)
  return app
}

function withRoute(app: FastifyInstance): FastifyInstance {
  app.post('/v1/users', { schema }, async (_request, reply) => reply.code(201).send(user))
  return app
}
