import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { fields, serverOptions } from 'fastify-conventions'
import jsonMask from 'json-mask'
import { presetApp } from '../fixtures/apps.js'
import { userSchema, users, usersSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

interface Query {
  readonly fields?: string
}

const payload = Object.freeze({ users })

// Fastify's serializer refuses an item without a required member, so for the peers none is required.
const { required: _, ...laxItem } = userSchema
const laxSchema = { type: 'object', properties: { users: { type: 'array', items: laxItem } } }

const headers = { accept: 'application/json' }
const twoFields = {
  sameBody: false,
  requests: [
    {
      target: '/v1/users?fields=id,name',
      headers,
      answer: JSON.stringify({ users: users.map(({ id, name }) => ({ id, name })) }),
    },
  ],
}

/** Two fields of ten: what a selection saves, and what is left of that after the selecting. */
export default loadScenario({
  title: 'GET of two fields (fields=id,name) of a list of fifty items of ten, against the whole list',
  baseline: 'bare',
  requests: [{ target: '/v1/users', headers }],
  requestsPerRound: 1_500,
  sameBody: true,
  bounds: { fields: [{ max: 0.45 }, { max: 0.99, to: 'jsonMask' }] },
  variants: {
    bare: { about: 'Fastify, the whole list', build: () => withList(Fastify()) },
    jsonMask: {
      about: 'two fields: Fastify, and json-mask in a preSerialization hook',
      ...twoFields,
      build: () => withList(withJsonMask(Fastify()), laxSchema),
    },
    plainPick: {
      about: 'two fields: Fastify, and a handler that picks them by hand',
      ...twoFields,
      build: () => withPickedList(Fastify()),
    },
    fields: {
      about: 'two fields: fields alone',
      ...twoFields,
      build: async () => {
        const app = Fastify(serverOptions())
        await app.register(fields)
        return withList(app)
      },
    },
    preset: {
      about: 'two fields: all conventions with their defaults',
      ...twoFields,
      build: async () => withList(await presetApp()),
    },
    presetFull: {
      about: 'all conventions with their defaults, the whole list',
      build: async () => withList(await presetApp()),
    },
  },
})

function withList(app: FastifyInstance, schema: object = usersSchema): FastifyInstance {
  app.get('/v1/users', { schema: { response: { 200: schema } } }, async () => payload)
  return app
}

function withPickedList(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users', { schema: { response: { 200: laxSchema } } }, async () => ({
    users: users.map(({ id, name }) => ({ id, name })),
  }))
  return app
}

function withJsonMask(app: FastifyInstance): FastifyInstance {
  app.addHook('preSerialization', function maskPreSerialization(request, _reply, payload, done) {
    const selected = (request as FastifyRequest<{ Querystring: Query }>).query.fields
    done(null, selected === undefined ? payload : jsonMask(payload, `users(${selected})`))
  })
  return app
}
