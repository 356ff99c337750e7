import { join } from 'node:path'
import autoload from '@fastify/autoload'

/** The options of the server. */
export const options = {
  ajv: { customOptions: { coerceTypes: 'array', removeAdditional: 'all' } },
}

/** A service with tasks for users who log in. */
export default async function tasksApp(app, opts) {
  await app.register(autoload, { dir: join(import.meta.dirname, 'plugins/external'), options: { ...opts } })
  app.register(autoload, { dir: join(import.meta.dirname, 'plugins/app'), options: { ...opts } })
  app.register(autoload, {
    dir: join(import.meta.dirname, 'routes'),
    autoHooks: true,
    cascadeHooks: true,
    options: { ...opts },
  })

  app.setErrorHandler((error, request, reply) => {
    request.log.error({ error, method: request.method, url: request.url }, 'unhandled error')
    const status = error.statusCode ?? 500
    reply.code(status)
    return { message: status < 500 ? error.message : 'Internal Server Error' }
  })

  // Whoever guesses paths is slowed down.
  app.setNotFoundHandler(
    { preHandler: app.rateLimit({ max: 3, timeWindow: '1 minute' }) },
    (_request, reply) => {
      reply.code(404)
      return { message: 'Not Found' }
    },
  )
}
