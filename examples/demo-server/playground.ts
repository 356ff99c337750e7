import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import Fastify, { type FastifyInstance } from 'fastify'
import conventions, { serverOptions } from 'fastify-conventions'

/** What {@link mountPlayground} needs. */
export interface PlaygroundOptions {
  /** Whether any visitor may turn the service off for some seconds: for development only. */
  readonly mayMaintain: boolean
}

/** The files of the page, which another plugin serves. */
export const playgroundPages = [{ url: '/playground/*', reason: 'the playground is public' }]

const maintenanceSeconds = 6

/** No script and no style but those of the page, requests to this server alone, and no page around it. */
const pageHeaders = {
  'content-security-policy': "default-src 'self';img-src 'self' data:;base-uri 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** These routes are of the page, not of the API. */
const config = {
  bearer: false,
  pathGuard: false,
  responseRules: false,
  idempotency: false,
  fields: false,
} as const
const hide = { hide: true } as const

interface Route {
  readonly method: string
  readonly url: string
}

/** Mounts the playground at `/`, and the routes that its cards need beside those of the API. */
export async function mountPlayground(
  app: FastifyInstance,
  { mayMaintain }: PlaygroundOptions,
): Promise<void> {
  const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  await app.register(fastifyStatic, {
    root: folder('playground'),
    prefix: '/playground/',
    schemaHide: true,
    setHeaders: (reply) => reply.headers(pageHeaders),
  })
  await app.register(fastifyStatic, {
    root: folder('../../docs'),
    prefix: '/playground/docs/',
    decorateReply: false,
    schemaHide: true,
    setHeaders: (reply) => reply.type('text/plain; charset=utf-8'),
  })

  app.get('/', { schema: hide, config }, function showPlayground(_request, reply) {
    return reply.headers(pageHeaders).sendFile('index.html')
  })

  app.get(
    '/playground/quota',
    { schema: hide, config: { ...config, rateLimit: { max: 5, timeWindow: '10s' } } },
    async function countRequest() {
      return { counted: true }
    },
  )

  app.post<{ Body: Route }>(
    '/playground/boots',
    {
      schema: {
        hide: true,
        body: {
          type: 'object',
          required: ['method', 'url'],
          additionalProperties: false,
          properties: {
            method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
            url: { type: 'string', maxLength: 200 },
          },
        },
      },
      // Each request starts an app.
      config: { ...config, rateLimit: { max: 20, timeWindow: '1m' } },
    },
    async function bootApp({ body }) {
      return { message: await bootFailure(body) }
    },
  )

  if (mayMaintain) {
    app.post('/playground/maintenance', { schema: hide, config }, async function beginMaintenance() {
      const until = new Date(Date.now() + maintenanceSeconds * 1000)
      await app.maintenance.enable({ until, reason: 'A visitor of the playground tries it' })
      return { until: until.toISOString() }
    })
  }
}

/** Returns what the boot of an app with the conventions and one route says; `null` if it boots. */
async function bootFailure({ method, url }: Route): Promise<string | null> {
  const app = Fastify(serverOptions())
  try {
    await app.register(conventions)
    app.route({ method, url, handler: async () => ({}) })
    await app.ready()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await app.close()
  }
}
