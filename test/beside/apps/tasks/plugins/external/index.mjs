import { join } from 'node:path'
import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import sensible from '@fastify/sensible'
import session from '@fastify/session'
import files from '@fastify/static'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import underPressure from '@fastify/under-pressure'
import fp from 'fastify-plugin'

const root = join(import.meta.dirname, '../../public')
const methods = ['GET', 'POST', 'PATCH']
const info = { title: 'Tasks', description: 'Tasks of users', version: '1.0.0' }

export default fp(async function external(app, { sessionId }) {
  await app.register(cors, { origin: ['https://tasks.example'], credentials: true, methods })
  await app.register(helmet, { referrerPolicy: { policy: 'same-origin' } })
  await app.register(rateLimit, {
    max: 5000,
    timeWindow: '1 minute',
    errorResponseBuilder: (_request, { statusCode, max }) => ({
      statusCode,
      message: `More than ${max} requests in a minute`,
    }),
  })
  await app.register(sensible)
  await app.register(cookie)
  await app.register(session, {
    secret: 'a secret of at least thirty-two characters',
    cookieName: 'session',
    saveUninitialized: false,
    cookie: { secure: false, httpOnly: true },
    ...(sessionId && { idGenerator: sessionId }),
  })
  await app.register(files, { root, prefix: '/public/' })
  await app.register(swagger, { hideUntagged: true, openapi: { info } })
  await app.register(swaggerUi, { routePrefix: '/api/docs' })
  await app.register(underPressure, {
    maxRssBytes: 8_000_000_000,
    message: 'The server is under pressure, retry later!',
    retryAfter: 50,
    exposeStatusRoute: '/health',
  })
})
