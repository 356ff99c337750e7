import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { order } from '../../src/convention/order.js'

/** Stands for the hook that a sample route has in its options. */
const own = 'the hook of the route'
const identify = (): string => '1'
const cachingOfRoute = { validators: () => ({ etag: 'v1' }), vary: ['accept-language'] }
const id = { type: 'integer', format: 'int64' }
/** Options of the plugins that need some to have hooks. */
export const options = {
  bearer: { issuer: 'https://id.example', audience: 'https://api.example' },
  cors: { origin: ['https://shop.example'] },
  selfAlias: { collections: ['users'], identify },
  versions: { versions: { 1: { deprecated: '2026-01-01T00:00:00Z' } } },
  methodOverride: { form: true },
  xsrf: { cookies: ['session'], secret: 'a secret of at least 32 characters' },
  // Its samples are served over plain HTTP.
  httpsOnly: { mode: 'report' as const },
}

const ofList = {
  onRequest: [own, 'problems:last'],
  preParsing: [own],
  preValidation: ['lists', own],
  preHandler: [own, 'fields', 'caching'],
  preSerialization: ['caching', own, 'lists', 'serialization'],
  onSend: ['caching', 'fields', own, 'versions', 'caching:last', 'xsrf'],
  onError: ['versions', 'caching', own],
}

/** The hooks of the app and of the sample routes, which use as many conventions as they can. */
export const expected = {
  app: {
    onRequest:
      'cors securityHeaders httpsOnly maintenance problems rateLimit pathGuard methodOverride bearer xsrf'.split(
        ' ',
      ),
    onSend: ['problems', 'cors', 'securityHeaders', 'caching', 'versions'],
  },
  'GET /v1/users': ofList,
  'HEAD /v1/users': {
    ...ofList,
    onSend: ['caching', 'fields', own, 'of Fastify', 'versions', 'caching:last', 'xsrf'],
  },
  'PUT /v1/users/:id': {
    onRequest: [own, 'problems:last'],
    preParsing: ['selfAlias', own, 'problems', 'idempotency', 'integerTwins'],
    preValidation: ['xsrf', 'methodOverride', own, 'integerTwins'],
    preHandler: ['selfAlias', 'integerTwins', own, 'fields', 'idempotency', 'caching'],
    preSerialization: [own, 'serialization'],
    onSend: ['caching', 'fields', own, 'versions', 'selfAlias', 'idempotency', 'xsrf'],
    onError: ['versions', 'caching', own],
  },
  'DELETE /v1/orders/:id': {
    onRequest: [own, 'problems:last'],
    preParsing: [own, 'problems', 'idempotency'],
    preValidation: ['xsrf', own],
    preHandler: [own, 'idempotency'],
    preSerialization: [own, 'responseRules', 'serialization'],
    onSend: ['caching', own, 'versions', 'idempotency', 'xsrf'],
    onError: ['versions', 'caching', own],
  },
}

/** Registers plugins in an app with the sample routes. Returns the places of the hooks of the app and its routes, by phase. */
export async function hooksOf(register: (app: FastifyInstance) => PromiseLike<unknown>, create = Fastify) {
  const app = create() as FastifyInstance
  await register(app)
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  const hooks = Object.fromEntries(Object.keys(order).map((phase) => [phase, hookOf(phase)]))
  const date = { type: 'string', format: 'date-time' }
  const user = { type: 'object', properties: { id, name: { type: 'string' }, updated_at: date } }
  const total = { type: 'integer' }
  const users = { type: 'object', properties: { users: { type: 'array', items: user }, total } }
  app.get('/v1/users', {
    ...hooks,
    schema: { response: { 200: users } },
    config: { lists: { idFormat: 'text' }, caching: cachingOfRoute, fields: { hidden: { name: true } } },
    handler: async (_request, reply) => reply.list([]),
  })
  app.put('/v1/users/:id', {
    ...hooks,
    schema: { params: { type: 'object', properties: { id } }, body: user, response: { 200: user } },
    config: { caching: cachingOfRoute, fields: { hidden: { name: true } } },
    handler: async () => ({ id: 1n }),
  })
  app.delete('/v1/orders/:id', { ...hooks, handler: async () => ({}) })
  await app.ready()
  const ofRoutes = routes.map((route) => [
    `${[route.method].flat().join()} ${route.url}`,
    Object.fromEntries(Object.keys(order).map((phase) => [phase, namesOf(route, phase)])),
  ])
  const { unknown } = keyOf<{ unknown: Compiled }>(app, 'unserved')
  const ofApp = ['onRequest', 'onSend'].map((phase) => [phase, namesAt(unknown, `${phase} beforeApp`)])
  return { app: Object.fromEntries(ofApp), ...Object.fromEntries(ofRoutes) }
}

interface Compiled {
  readonly steps: ReadonlyMap<string, readonly { readonly place: { readonly name: string } }[]>
}

const namesAt = ({ steps }: Compiled, place: string) =>
  (steps.get(place) ?? []).map((step) => step.place.name)

/** The names of the hooks of a route, with the steps in place of the hooks that run them. */
function namesOf(route: RouteOptions, phase: string): string[] {
  const compiled = keyOf<Compiled>(route.config ?? {}, 'compiled')
  return [route[phase as 'onSend'] ?? []].flat().flatMap((hook) => {
    const place = keyOf<string | undefined>(hook, 'hook')
    const named = hook.name === own ? own : 'of Fastify'
    return place === undefined ? named : namesAt(compiled, place)
  })
}

function keyOf<T>(owner: object, name: string): T {
  return (owner as Record<symbol, T>)[Symbol.for(`fastify-conventions.${name}`)] as T
}

function hookOf(phase: string): (...parameters: unknown[]) => void {
  const hook = (...parameters: unknown[]): void => (parameters.at(-1) as () => void)()
  // Fastify counts the parameters of a hook of these phases.
  const length = ['preParsing', 'preSerialization', 'onSend', 'onError'].includes(phase) ? 4 : 3
  Object.defineProperty(hook, 'length', { value: length })
  return Object.defineProperty(hook, 'name', { value: own })
}
