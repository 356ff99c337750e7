// Own process: it is slow
import { createRequire } from 'node:module'
import cookie from '@fastify/cookie'
import csrfProtection from '@fastify/csrf-protection'
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import multipart from '@fastify/multipart'
import underPressure from '@fastify/under-pressure'
import view from '@fastify/view'
import websocket from '@fastify/websocket'
import { Eta } from 'eta'
import type { FastifyPluginAsync, FastifyReply, InjectOptions } from 'fastify'
import mercurius from 'mercurius'
import { testSetUps } from './matrix.js'
import { folder, form, gets, secret } from './service.js'

// Its types would merge with those of this package in all tests.
const cachingOfFastify: FastifyPluginAsync<{ privacy: string; expiresIn: number }> = createRequire(
  import.meta.url,
)('@fastify/caching')

const graphql = (query: string): InjectOptions => ({ method: 'POST', url: '/graphql', payload: { query } })
const multiple = { 'content-type': 'multipart/form-data; boundary=b' }
const part =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nabc\r\n--b--\r\n'

const reason = 'of another plugin'

/** What fewer apps have. */
await testSetUps({
  'helmet with nonces': {
    register: async (app) => app.register(helmet, { enableCSPNonces: true }),
    routes: (app) =>
      app.get('/v1/nonces', { config: { caching: { etag: false } } }, async (_request, reply) =>
        reply.type('text/html').send(`<script nonce="${reply.cspNonce.script}"></script>`),
      ),
    requests: gets('/v1/nonces'),
    overlaps: { securityHeaders: '(all)' },
  },
  caching: {
    register: async (app) => app.register(cachingOfFastify, { privacy: 'private', expiresIn: 60 }),
    routes: (app) =>
      app.get('/v1/tags', async (_request, reply) => {
        void (reply as unknown as { etag(tag: string): unknown }).etag('mine')
        return {}
      }),
    requests: gets('/v1/tags'),
    overlaps: { caching: '(all)' },
  },
  'under-pressure': {
    register: async (app) =>
      app.register(underPressure, {
        exposeStatusRoute: '/status',
        maxEventLoopDelay: 100_000,
        pressureHandler: () => {},
      }),
    requests: gets('/status'),
    dependsOnOrder: ['/status'],
    options: {
      earlierRoutes: [{ url: '/status', reason }],
      pathGuard: { exceptions: [{ url: '/status', except: ['plural', 'version'], reason }] },
    },
  },
  'under-pressure, overloaded': {
    register: async (app) =>
      app.register(underPressure, { healthCheck: async () => false, healthCheckInterval: 100_000 }),
    dependsOnOrder: 'all',
  },
  'tokens, bodies, views and sockets': {
    register: async (app) => {
      await app.register(cookie)
      await app.register(csrfProtection)
      await app.register(jwt, { secret })
      await app.register(multipart)
      await app.register(formbody)
      await app.register(view, { engine: { eta: new Eta() }, templates: folder('templates') })
      await app.register(websocket)
    },
    routes: (app) => {
      app.post('/v1/orders', { preHandler: app.csrfProtection }, async () => ({}))
      app.get('/v1/letters', { onRequest: (request) => request.jwtVerify() as never }, async () => ({}))
      app.post('/v1/uploads', async (request) => {
        const file = await request.file()
        return { name: file?.filename, text: String(await file?.toBuffer()) }
      })
      app.post('/v1/answers', async (request) => request.body)
      app.get('/v1/views', async (_request, reply: FastifyReply) => reply.view('page.eta', { name: 'Ada' }))
      app.get('/v1/events', { websocket: true }, (socket) => socket.close())
    },
    requests: {
      ...gets('/v1/letters', '/v1/views', '/v1/events'),
      'without a csrf token': { method: 'POST', url: '/v1/orders', payload: {} },
      'with a bad token': { url: '/v1/letters', headers: { authorization: 'Bearer a.b.c' } },
      upload: { method: 'POST', url: '/v1/uploads', headers: multiple, payload: part },
      form: { method: 'POST', url: '/v1/answers', headers: form, payload: 'name=Ada&age=31' },
    },
  },
  mercurius: {
    register: async (app) =>
      app.register(mercurius, {
        schema: 'type Query { id: ID! } type Mutation { rename(name: String): String }',
        resolvers: {
          Query: { id: () => '9007199254740993' },
          Mutation: { rename: (_: unknown, { name }: { name: string }) => name },
        },
        graphiql: true,
      }),
    requests: {
      query: graphql('{ id }'),
      'query with get': { url: '/graphql?query=%7Bid%7D' },
      mutation: graphql('mutation { rename(name: "Bo") }'),
      'not a query': graphql('{'),
      graphiql: { url: '/graphiql' },
    },
    dependsOnOrder: ['query', 'query with get', 'mutation', 'not a query', 'graphiql'],
    options: {
      earlierRoutes: [{ url: '/graph*', reason }],
      pathGuard: { exceptions: [{ url: '/graph*', except: ['plural', 'version'], reason }] },
      responseRules: { exceptions: [{ url: '/graph*', except: ['plural'], reason }] },
    },
  },
})
