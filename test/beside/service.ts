import { fileURLToPath } from 'node:url'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import type conventions from '../../src/index.js'

type Options = Parameters<typeof conventions>[1]

/** An app with other plugins. */
export interface SetUp {
  /** Registers the plugins. */
  readonly register: (app: FastifyInstance, upstream: string) => Promise<unknown>
  /** Declares the routes that use the plugins, after the conventions and the plugins. */
  readonly routes?: (app: FastifyInstance) => unknown
  /** Requests beside those of the service. */
  readonly requests?: Readonly<Record<string, InjectOptions>>
  /** Options of the conventions, as `docs/beside-other-plugins.md` has them. */
  readonly options?: Options
  /** The conventions that leave their work to one of the plugins, and the routes for which they do. */
  readonly overlaps?: Readonly<Partial<Record<keyof Options, string>>>
  /** The requests whose responses depend on the order: the conventions see none that an earlier plugin has answered. */
  readonly dependsOnOrder?: readonly string[] | 'all'
}

/** Returns the path of a folder beside this file. */
export const folder = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export const secret = 'a secret of at least thirty-two characters'
export const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Requests of the kind GET, whose names are their URLs. */
export const gets = (...urls: readonly string[]) => Object.fromEntries(urls.map((url) => [url, { url }]))

const user = { id: 7, name: 'Ada', updated_at: '2026-11-19T08:00:00Z' }
const updated_at = { type: 'string', format: 'date-time' }
const properties = { id: { type: 'integer' }, name: { type: 'string' }, updated_at }
const userSchema = { type: 'object', properties }
const usersSchema = { type: 'object', properties: { users: { type: 'array', items: userSchema } } }

/** Declares the routes of a service that follows the conventions: JSON, and the answers that are none. */
export function addRoutes(app: FastifyInstance): void {
  app.get('/v1/users', { schema: { response: { 200: usersSchema } } }, async () => ({ users: [user] }))
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  const ofCreate = { body: userSchema, response: { 201: userSchema } }
  app.post('/v1/users', { schema: ofCreate }, async (request, reply) =>
    reply.code(201).header('location', '/v1/users/7').send(request.body),
  )
  app.delete('/v1/users/:id', async (_request, reply) => reply.code(204).send())
  app.get('/v1/faults', async () => Promise.reject(new Error('broken')))
  app.get('/v1/pages', async (_request, reply) => reply.type('text/html').send('<!doctype html><p>Page</p>'))
  app.get('/v1/addresses', async (_request, reply) => reply.redirect('/v1/users', 301))
  app.get('/v1/names', async (_request, reply) => reply.redirect('/v1/users', 308))
  app.get('/v1/parts', async (_request, reply) =>
    reply.code(206).header('content-range', 'bytes 0-2/9').type('text/plain').send('abc'),
  )
  const own = { vary: 'Accept-Language', 'cache-control': 'max-age=60', etag: '"own"' }
  app.get('/v1/own_headers', { config: { pathGuard: false } }, async (_request, reply) =>
    reply.headers({ ...own, 'x-frame-options': 'SAMEORIGIN' }).send({ name: 'Ada' }),
  )
}

const from = { origin: 'https://a.example' }
const preflight = { ...from, 'access-control-request-method': 'GET' }

/** The requests that each set-up gets. */
export const requests: Readonly<Record<string, InjectOptions>> = {
  list: { url: '/v1/users' },
  'list from a page': { url: '/v1/users', headers: from },
  'list, compressed': { url: '/v1/users', headers: { 'accept-encoding': 'gzip' } },
  head: { method: 'HEAD', url: '/v1/users' },
  read: { url: '/v1/users/7' },
  create: { method: 'POST', url: '/v1/users', payload: { name: 'Ada' } },
  remove: { method: 'DELETE', url: '/v1/users/7' },
  fault: { url: '/v1/faults', headers: from },
  page: { url: '/v1/pages' },
  moved: { url: '/v1/addresses' },
  'moved with its method': { url: '/v1/names' },
  part: { url: '/v1/parts' },
  'headers of the app': { url: '/v1/own_headers', headers: from },
  unknown: { url: '/v1/nothing', headers: from },
  preflight: { method: 'OPTIONS', url: '/v1/users', headers: preflight },
}

/** A service behind a proxy: it echoes forms, and gives pages, errors and redirects. */
export function upstreamApp(): FastifyInstance {
  const app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.get('/json', async (_request, reply) => reply.type('application/json').send('{"id":9007199254740993}'))
  app.get('/page', async (_request, reply) =>
    reply.type('text/html').header('etag', '"page"').send('<p>Page</p>'),
  )
  app.get('/error', async (_request, reply) => reply.code(418).send({ error: 'teapot' }))
  app.get('/moved', async (_request, reply) => reply.redirect('/json', 308))
  app.all('/form', async (request) => ({ method: request.method, body: request.body }))
  return app
}
