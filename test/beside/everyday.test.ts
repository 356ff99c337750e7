import { createRequire } from 'node:module'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import csrfProtection from '@fastify/csrf-protection'
import etag from '@fastify/etag'
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import httpProxy from '@fastify/http-proxy'
import jwt from '@fastify/jwt'
import multipart from '@fastify/multipart'
import rateLimit from '@fastify/rate-limit'
import session from '@fastify/session'
import files from '@fastify/static'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import underPressure from '@fastify/under-pressure'
import websocket from '@fastify/websocket'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { testSetUps } from './matrix.js'
import { folder, form, gets, secret } from './service.js'

// Its types would merge with those of this package in all tests.
const sensible: FastifyPluginAsync = createRequire(import.meta.url)('@fastify/sensible')

/** What @fastify/sensible adds to an app and a reply. */
type Sensible = Record<'httpErrors', { notFound(message: string): Error }>
type SensibleReply = Record<'gone' | 'vary' | 'cacheControl', (name: string, value?: number) => FastifyReply>

const ofFiles = { root: folder('files'), prefix: '/files/' }
const ofSession = { secret, cookie: { secure: false }, idGenerator: () => 'session-1' }
const proxiedForm = { method: 'POST', url: '/proxied/form' } as const
const override = { ...form, 'x-http-method-override': 'DELETE' }
const json = { 'content-type': 'application/json' }
const documentation = ['/docs', '/docs/', '/docs/static/swagger-initializer.js']
const friendsRoute = 'OPTIONS /v1*; GET /v1/friends'

/** What most apps have. Each that does the work of a convention is in `all together`, and in the tests of that convention. */
await testSetUps({
  nothing: { register: async () => {} },
  'helmet for some routes': {
    register: async (app) => app.register(helmet, { global: false }),
    routes: (app) => {
      app.get('/v1/letters', { helmet: { xFrameOptions: { action: 'deny' } } }, async () => ({}))
      app.get('/v1/words', async (_request, reply) => {
        await reply.helmet({ contentSecurityPolicy: false })
        return {}
      })
    },
    requests: gets('/v1/letters', '/v1/words'),
    overlaps: { securityHeaders: '(all)' },
  },
  'rate-limit for some routes': {
    register: async (app) => app.register(rateLimit, { global: false }),
    routes: (app) => {
      app.get('/v1/books', { config: { rateLimit: { max: 1, timeWindow: '1 hour' } } }, async () => ({}))
      app.get('/v1/cars', { config: { rateLimit: false } }, async () => ({}))
      app.get('/v1/fans', { preHandler: app.rateLimit({ max: 1, timeWindow: '1 hour' }) }, async () => ({}))
    },
    requests: {
      ...gets('/v1/books', '/v1/cars', '/v1/fans'),
      'books again': { url: '/v1/books' },
      'fans again': { url: '/v1/fans' },
    },
    overlaps: { rateLimit: '(all)' },
  },
  sensible: {
    register: async (app) => app.register(sensible),
    routes: (app) => {
      app.get('/v1/missings', async () => {
        throw (app as unknown as Sensible).httpErrors.notFound('no such user')
      })
      app.get('/v1/losses', async (_, reply) => (reply as unknown as SensibleReply).gone('it was here'))
      app.get('/v1/varieties', async (_request, reply) => {
        const helpers = reply as unknown as SensibleReply
        helpers.vary('Accept-Language')
        helpers.cacheControl('max-age', 60)
        return {}
      })
    },
    requests: gets('/v1/missings', '/v1/losses', '/v1/varieties'),
  },
  'swagger and swagger-ui': {
    register: async (app) => {
      await app.register(swagger, { openapi: { info: { title: 'Users', version: '1.0.0' } } })
      await app.register(swaggerUi, { routePrefix: '/docs' })
    },
    requests: gets(...documentation),
    // The conventions see no route that is declared before them.
    dependsOnOrder: documentation,
  },
  static: {
    register: async (app) => app.register(files, { ...ofFiles, redirect: true }),
    routes: (app) => app.get('/v1/downloads', async (_request, reply) => reply.sendFile('lines.txt')),
    requests: {
      ...gets('/files/lines.txt', '/files/folder', '/files/folder/', '/files/nothing.txt', '/v1/downloads'),
      'part of a file': { url: '/files/lines.txt', headers: { range: 'bytes=0-4' } },
      'a part that is not there': { url: '/files/lines.txt', headers: { range: 'bytes=900-' } },
      'a part by a handler': { url: '/v1/downloads', headers: { range: 'bytes=0-4' } },
    },
  },
  session: {
    register: async (app) => {
      await app.register(cookie)
      await app.register(session, ofSession)
    },
    routes: (app) =>
      app.post('/v1/visits', async (request) => {
        request.session.set('user' as never, 'Ada' as never)
        return { visits: [] }
      }),
    requests: { visit: { method: 'POST', url: '/v1/visits', payload: {} } },
  },
  'http-proxy': {
    register: async (app, upstream) => app.register(httpProxy, { upstream, prefix: '/proxied' }),
    requests: {
      ...gets('/proxied/json', '/proxied/page', '/proxied/error', '/proxied/moved'),
      'a proxied form': { ...proxiedForm, headers: form, payload: '_method=DELETE&name=Ada' },
      'a proxied override': { ...proxiedForm, headers: override, payload: 'name=Ada' },
      'proxied big numbers': { ...proxiedForm, headers: json, payload: '{"id":9007199254740993}' },
    },
  },
  'plugins in a context': {
    register: async () => {},
    routes: async (app) => {
      await app.register(
        async (inner) => {
          await inner.register(helmet, { xFrameOptions: { action: 'deny' } })
          await inner.register(cors, { origin: ['https://a.example'] })
          await inner.register(rateLimit, { max: 100, timeWindow: '1 hour' })
          await inner.register(etag, { weak: true })
          await inner.register(sensible)
          inner.get('/friends', async () => ({ friends: [] }))
        },
        { prefix: '/v1' },
      )
    },
    requests: { friends: { url: '/v1/friends', headers: { origin: 'https://a.example' } } },
    overlaps: { caching: friendsRoute, rateLimit: friendsRoute, securityHeaders: friendsRoute },
  },
  'all together': {
    register: async (app, upstream) => {
      await app.register(sensible)
      await app.register(helmet)
      await app.register(cors, { origin: ['https://a.example'], credentials: true })
      await app.register(compress, { threshold: 1 })
      await app.register(cookie)
      await app.register(session, ofSession)
      await app.register(csrfProtection, { sessionPlugin: '@fastify/session' })
      await app.register(jwt, { secret })
      await app.register(multipart)
      await app.register(formbody)
      await app.register(rateLimit, { max: 100, timeWindow: '1 hour' })
      await app.register(etag)
      await app.register(underPressure, { maxHeapUsedBytes: 2 ** 40 })
      await app.register(swagger, { openapi: { info: { title: 'Users', version: '1.0.0' } } })
      await app.register(swaggerUi, { routePrefix: '/docs' })
      await app.register(files, ofFiles)
      await app.register(httpProxy, { upstream, prefix: '/proxied' })
      await app.register(websocket)
    },
    requests: gets('/docs', '/files/lines.txt', '/proxied/json'),
    overlaps: { caching: '(all)', rateLimit: '(all)', securityHeaders: '(all)' },
    dependsOnOrder: ['unknown', '/docs'],
  },
})
