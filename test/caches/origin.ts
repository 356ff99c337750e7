import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import conventions, { type CachingRouteOptions, ProblemError, serverOptions } from '../../src/index.js'
import { serve } from '../support/serve.js'

/** A service behind a cache, and what of it the cache let through. */
export interface Origin {
  readonly app: FastifyInstance
  readonly port: number
  readonly url: string
  /** How many requests came in for a path, whatever their method. */
  asked(path: string): number
  /** How often a handler made an answer to a GET of a path. */
  made(path: string): number
  /** Replaces what is at a path, past the cache. */
  write(path: string, text: string): void
}

interface Item {
  readonly text: string
  readonly version: number
  readonly updated_at: string
}

interface Write {
  Body: { text: string }
}

/** Collections, by how caches may keep what is in them. */
const policies = {
  articles: { cacheControl: { public: true, maxAge: 60 } },
  drafts: { cacheControl: { maxAge: 60 } },
  notes: {},
  profiles: { cacheControl: { private: true, maxAge: 60 } },
  rates: { cacheControl: { public: true, maxAge: 1, staleWhileRevalidate: 60 } },
  secrets: { cacheControl: { noStore: true } },
} as const satisfies Record<string, CachingRouteOptions>

/** Greetings by language. */
export const greetings = { en: 'Good day', de: 'Guten Tag' } as const

/**
 * Starts the service. Below `/v1/<collection>/` any id has an item, whose text is the id until it is written. An
 * answer below `/v1/prices/` is fresh for one second the first time, and for a minute from then on.
 */
export async function startOrigin(t: Test): Promise<Origin> {
  const asked = new Map<string, number>()
  const made = new Map<string, number>()
  const items = new Map<string, Item>()
  const itemAt = (path: string): Item =>
    items.get(path) ?? { text: path.split('/').at(-1) ?? '', version: 1, updated_at: created }

  const app = Fastify(serverOptions())
  await app.register(conventions)
  app.addHook('onRequest', async ({ url }) => {
    asked.set(url, (asked.get(url) ?? 0) + 1)
  })

  function mount(collection: string, caching: CachingRouteOptions): void {
    const path = `/v1/${collection}/:id`
    const config = {
      caching: {
        ...caching,
        validators: ({ url }: FastifyRequest) => {
          const { version, updated_at } = itemAt(url)
          return { version, lastModified: new Date(updated_at) }
        },
      },
    }
    app.get(path, { config, schema: { response: { 200: itemSchema } } }, async ({ url }) => {
      made.set(url, (made.get(url) ?? 0) + 1)
      return itemAt(url)
    })
    app.put<Write>(
      path,
      { config: { caching: { validators: config.caching.validators } } },
      async (request) => {
        const { url, body, expectedVersion } = request
        if (expectedVersion !== undefined && expectedVersion !== itemAt(url).version) {
          throw new ProblemError('precondition-failed')
        }
        write(url, body.text)
        return itemAt(url)
      },
    )
  }

  function write(path: string, text: string): void {
    const { version, updated_at } = itemAt(path)
    items.set(path, {
      text,
      version: version + 1,
      updated_at: new Date(Date.parse(updated_at) + 1000).toISOString(),
    })
  }

  for (const [collection, caching] of Object.entries(policies)) mount(collection, caching)
  app.addHook('onRequest', async ({ url, method }, reply) => {
    if (method !== 'GET' || !url.startsWith('/v1/prices/')) return
    reply.caching({ cacheControl: { public: true, maxAge: asked.get(url) === 1 ? 1 : 60 } })
  })
  mount('prices', {})
  app.get(
    '/v1/greetings/:id',
    { config: { caching: { cacheControl: { public: true, maxAge: 60 }, vary: ['Accept-Language'] } } },
    async (request) => {
      made.set(request.url, (made.get(request.url) ?? 0) + 1)
      const text = request.headers['accept-language'] === 'de' ? greetings.de : greetings.en
      return { text, updated_at: created }
    },
  )

  // What depends on a key in a header that no cache knows.
  const isAda = ({ headers }: FastifyRequest) => headers['x-api-key'] === 'ada'
  const fields = { hidden: { text: (request: FastifyRequest) => !isAda(request) } }
  app.get(
    '/v1/employees/:id',
    {
      config: { caching: { cacheControl: { maxAge: 60 } }, fields },
      schema: { response: { 200: employee } },
    },
    async () => ({ name: 'Ada', text: 'salary' }),
  )
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    if (isAda(request)) request.caller = { subject: 'ada', scopes: [], claims: {} }
  })
  app.get('/v1/badges/:id', { config: { caching: { cacheControl: { maxAge: 60 } } } }, async (request) => ({
    text: request.caller?.subject ?? 'nobody',
  }))

  const { origin, port } = await serve(t, app)
  return {
    app,
    port,
    url: origin,
    asked: (path) => asked.get(path) ?? 0,
    made: (path) => made.get(path) ?? 0,
    write,
  }
}

const created = '2026-01-02T03:04:05.000Z'

const employee = { type: 'object', properties: { name: { type: 'string' }, text: { type: 'string' } } }

const itemSchema = {
  type: 'object',
  required: ['text', 'version', 'updated_at'],
  additionalProperties: false,
  properties: {
    text: { type: 'string' },
    version: { type: 'integer' },
    updated_at: { type: 'string', format: 'date-time' },
  },
}
