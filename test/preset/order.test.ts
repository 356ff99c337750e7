/** The order of a request: hooks as they stand on routes, the table, and the pages that show it. */
import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance, type FastifyPluginAsync, type RouteOptions } from 'fastify'
import t from 'tap'
import { order } from '../../src/fastify/order.js'
import conventions, {
  caching,
  cors,
  fields,
  integerTwins,
  lists,
  maintenance,
  methodOverride,
  operations,
  pathGuard,
  problems,
  rateLimit,
  responseRules,
  securityHeaders,
  selfAlias,
  versions,
} from '../../src/index.js'

const own = 'the hook of the route'
const identify = (): string => '1'
const cachingOfRoute = { validators: () => ({ etag: 'v1' }), vary: ['accept-language'] }
const id = { type: 'integer', format: 'int64' }
const options = {
  cors: { origin: ['https://shop.example'] },
  selfAlias: { collections: ['users'], identify },
  versions: { versions: { 1: { deprecated: '2026-01-01T00:00:00Z' } } },
  methodOverride: { form: true },
}

// A hook of each phase on routes that use as many conventions as they can.
const expected = {
  app: {
    onRequest: [
      'problems:admission',
      'cors',
      'securityHeaders',
      'maintenance',
      'rateLimit',
      'pathGuard',
      'methodOverride',
      'versions',
    ],
    onSend: ['problems', 'cors', 'securityHeaders', 'caching', 'versions'],
  },
  'GET /v1/users': {
    onRequest: ['caching', own, 'problems:expectation'],
    preParsing: [own],
    preValidation: ['lists', own],
    preHandler: [own, 'fields', 'caching'],
    preSerialization: ['caching', own, 'serialization'],
    onSend: ['caching', 'fields', own, 'versions'],
    onError: ['versions', 'caching', own],
  },
  'HEAD /v1/users': {
    onRequest: ['caching', own, 'problems:expectation'],
    preParsing: [own],
    preValidation: ['lists', own],
    preHandler: [own, 'fields', 'caching'],
    preSerialization: ['caching', own, 'serialization'],
    onSend: [
      'caching',
      'caching:empty-304',
      'fields',
      own,
      'of Fastify',
      'versions',
      'caching:length-of-304',
    ],
    onError: ['versions', 'caching', own],
  },
  'PUT /v1/users/:id': {
    onRequest: [own, 'problems:expectation'],
    preParsing: ['selfAlias', own, 'problems:content-coding', 'integerTwins'],
    preValidation: ['selfAlias', 'methodOverride', own, 'integerTwins'],
    preHandler: ['integerTwins', own, 'fields', 'caching'],
    preSerialization: [own, 'serialization'],
    onSend: ['caching', 'fields', own, 'versions', 'selfAlias'],
    onError: ['versions', 'caching', own],
  },
  'DELETE /v1/orders/:id': {
    onRequest: [own, 'problems:expectation'],
    preParsing: ['problems:empty-body', own, 'problems:content-coding'],
    preValidation: [own],
    preHandler: [own],
    preSerialization: [own, 'responseRules', 'serialization'],
    onSend: ['caching', own, 'versions'],
    onError: ['versions', 'caching', own],
  },
}

t.test('the hooks of sample routes stand in the order of the table', async (t) => {
  t.strictSame(
    await hooksOf((app) => app.register(conventions, { ...options, serializer: 'fastify' })),
    expected,
  )
})

t.test('so they do where the plugins are registered in the reverse order', async (t) => {
  const plugins = {
    problems,
    cors,
    securityHeaders,
    maintenance,
    rateLimit,
    pathGuard,
    methodOverride,
    versions,
  }
  const rest = { selfAlias, lists, responseRules, fields, integerTwins, caching, operations }
  const all = Object.entries({ ...plugins, ...rest }) as [string, FastifyPluginAsync<object>][]
  const given: Readonly<Record<string, object>> = options
  const hooks = await hooksOf(async (app) => {
    for (const [name, plugin] of all.reverse()) await app.register(plugin, given[name] ?? {})
  })
  t.strictSame(hooks, expected)
})

t.test('each list of hooks is a part of the table', async (t) => {
  const table: Readonly<Record<string, readonly string[]>> = order
  for (const [name, phases] of Object.entries(expected).slice(1)) {
    for (const [phase, steps] of Object.entries(phases)) {
      const named = steps
        .filter((step) => step !== 'of Fastify')
        .map((step) => (step === own ? 'hooks of the route' : step))
      const ofTable = (table[phase] ?? []).filter((step) => named.includes(step))
      t.strictSame(named, ofTable, `${name} ${phase}`)
    }
  }
})

t.test('the preset and docs/path-of-a-request.md show the table', async (t) => {
  const preset = sourceOf('src/preset.ts').replaceAll(/\s+(\*\s+)?/g, ' ')
  const page = sourceOf('docs/path-of-a-request.md')
  const rows = [...page.matchAll(/^\| (?:`(\w+)`)? ?\| (?:`([^`]+)`|([^|`]+?)) +\|/gm)]
  const shown: Record<string, string[]> = {}
  let phase = ''
  for (const [, named, step, hooks] of rows) {
    phase = named ?? phase
    const steps = shown[phase] ?? []
    shown[phase] = [...steps, step ?? hooks ?? '']
  }
  for (const [name, steps] of Object.entries(order)) {
    t.match(preset, `${name}: ${steps.join(' → ')}`, `the comment of the preset: ${name}`)
    t.strictSame(shown[name], steps, `docs/path-of-a-request.md: ${name}`)
  }
})

t.test('docs/path-of-a-request.md names codes and statuses that exist', async (t) => {
  const errors = sourceOf('docs/errors.md')
  const codes = [...sourceOf('docs/path-of-a-request.md').matchAll(/(\d{3}) `([a-z-]+)`/g)]
  t.ok(codes.length > 20)
  for (const [, status, code] of codes)
    t.match(errors, `[\`${code}\`](#${code}) | ${status} |`, `${status} ${code}`)
})

/** Returns the places of the hooks that an app and its routes have, by phase. */
async function hooksOf(register: (app: FastifyInstance) => PromiseLike<unknown>): Promise<unknown> {
  const app = Fastify()
  await register(app)
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  const hooks = Object.fromEntries(Object.keys(order).map((phase) => [phase, hookOf(phase)]))
  const user = {
    type: 'object',
    properties: { id, name: { type: 'string' }, updated_at: { type: 'string', format: 'date-time' } },
  }
  const users = {
    type: 'object',
    properties: { users: { type: 'array', items: user }, total: { type: 'integer' } },
  }
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
    Object.fromEntries(Object.keys(order).map((phase) => [phase, namesOf(route[phase as 'onSend'])])),
  ])
  return { app: appHooksOf(app), ...Object.fromEntries(ofRoutes) }
}

function namesOf(hooks: unknown): string[] {
  return [hooks].flat().map((hook) => {
    const { [Symbol.for('fastify-conventions.step')]: step, name } = hook as {
      [key: symbol]: string
      name: string
    }
    return step ?? (name === own ? own : 'of Fastify')
  })
}

function appHooksOf(app: FastifyInstance): unknown {
  const key = Symbol.for('fastify-conventions.hooks')
  const phases = (app as unknown as Record<symbol, Record<string, { runs: unknown[][] }>>)[key] ?? {}
  return Object.fromEntries(Object.entries(phases).map(([phase, { runs }]) => [phase, namesOf(runs.flat())]))
}

function hookOf(phase: string): (...parameters: unknown[]) => void {
  const hook = (...parameters: unknown[]): void => (parameters.at(-1) as () => void)()
  // Fastify counts the parameters of a hook of these phases.
  const length = ['preParsing', 'preSerialization', 'onSend', 'onError'].includes(phase) ? 4 : 3
  Object.defineProperty(hook, 'length', { value: length })
  return Object.defineProperty(hook, 'name', { value: own })
}

function sourceOf(path: string): string {
  return readFileSync(path, 'utf8')
}
