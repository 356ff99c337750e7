import Fastify, { type FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import conventions, { type CachingRouteOptions, ProblemError, serverOptions } from '../../src/index.js'
import { serve } from '../support/serve.js'

/** A service behind a cache, and what of it the cache let through. */
export type Origin = Awaited<ReturnType<typeof startOrigin>>

/** Collections, by how caches may keep what is in them. */
const policies: Readonly<Record<string, CachingRouteOptions>> = {
  articles: { cacheControl: { public: true, maxAge: 60 } },
  drafts: { cacheControl: { maxAge: 60 } },
  notes: {},
  prices: {},
  profiles: { cacheControl: { private: true, maxAge: 60 } },
  rates: { cacheControl: { public: true, maxAge: 1, staleWhileRevalidate: 60 } },
  secrets: { cacheControl: { noStore: true } },
}

/** Greetings by language. */
export const greetings = { en: 'Good day', de: 'Guten Tag' } as const

const created = Date.parse('2026-01-02T03:04:05.000Z')
const text = { type: 'string' }
const date = { type: 'string', format: 'date-time' }
const item = { type: 'object', properties: { text, version: { type: 'integer' }, updated_at: date } }
const isAda = ({ headers }: FastifyRequest) => headers['x-api-key'] === 'ada'
const employee = { type: 'object', properties: { name: text, text } }

/**
 * Starts the service. Below `/v1/<collection>/` any id has an item, whose text is the id until it is written. An
 * answer below `/v1/prices/` is fresh for one second the first time, and for a minute from then on.
 */
export async function startOrigin(t: Test) {
  const asked = new Map<string, number>()
  const made = new Map<string, number>()
  const items = new Map<string, { readonly text: string; readonly version: number }>()
  const count = (counts: Map<string, number>, path: string) => counts.set(path, (counts.get(path) ?? 0) + 1)
  const itemAt = (path: string) => {
    const { text, version } = items.get(path) ?? { text: path.split('/').at(-1) ?? '', version: 1 }
    return { text, version, updated_at: new Date(created + version * 1000).toISOString() }
  }
  const write = (path: string, text: string) => items.set(path, { text, version: itemAt(path).version + 1 })
  const validators = ({ url }: FastifyRequest) => {
    const { version, updated_at } = itemAt(url)
    return { version, lastModified: new Date(updated_at) }
  }

  const app = Fastify(serverOptions())
  await app.register(conventions)
  app.addHook('onRequest', async ({ url, method }, reply) => {
    count(asked, url)
    if (method === 'GET' && url.startsWith('/v1/prices/'))
      reply.caching({ cacheControl: { public: true, maxAge: asked.get(url) === 1 ? 1 : 60 } })
    if (isAda(reply.request)) reply.request.caller = { subject: 'ada', scopes: [], claims: {} }
  })
  app.decorateRequest('caller', null)
  for (const [collection, caching] of Object.entries(policies)) {
    const path = `/v1/${collection}/:id`
    const config = { caching: { ...caching, validators } }
    app.get(path, { config, schema: { response: { 200: item } } }, async ({ url }) => {
      count(made, url)
      return itemAt(url)
    })
    app.put<{ Body: { text: string } }>(path, { config: { caching: { validators } } }, async (request) => {
      const { url, body, expectedVersion } = request
      if (expectedVersion !== undefined && expectedVersion !== itemAt(url).version)
        throw new ProblemError('precondition-failed')
      write(url, body.text)
      return itemAt(url)
    })
  }
  const shared = { cacheControl: { public: true, maxAge: 60 } }
  const ofLanguage = { config: { caching: { ...shared, vary: ['Accept-Language'] } } }
  app.get('/v1/greetings/:id', ofLanguage, async ({ url, headers }) => {
    count(made, url)
    return { text: greetings[headers['accept-language'] === 'de' ? 'de' : 'en'] }
  })

  // What depends on a key in a header that no cache knows.
  const caching = { cacheControl: { maxAge: 60 } }
  const fields = { hidden: { text: (request: FastifyRequest) => !isAda(request) } }
  const schema = { response: { 200: employee } }
  app.get('/v1/employees/:id', { config: { caching, fields }, schema }, async () => ({ text: 'salary' }))
  app.get('/v1/badges/:id', { config: { caching } }, async ({ caller }) => ({
    text: caller?.subject ?? 'nobody',
  }))

  const { origin, port } = await serve(t, app)
  return {
    port,
    url: origin,
    /** How many requests came in for a path, whatever their method. */
    asked: (path: string) => asked.get(path) ?? 0,
    /** How often a handler made an answer to a GET of a path. */
    made: (path: string) => made.get(path) ?? 0,
    /** Replaces what is at a path, past the cache. */
    write,
  }
}
