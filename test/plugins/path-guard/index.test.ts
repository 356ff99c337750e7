import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type PathGuardOptions, type PathGuardRouteOptions, pathGuard } from '../../../src/index.js'
import { unwrapped } from '../../support/report-table.js'

const nothing = async (): Promise<object> => ({})

async function guarded(options: PathGuardOptions = {}) {
  const app = Fastify()
  await app.register(pathGuard, options)
  return app
}

/** What to write instead of each path that breaks a rule. */
async function suggestions(options: PathGuardOptions, ...paths: string[]): Promise<readonly unknown[]> {
  const app = await guarded({ ...options, mode: 'report' })
  for (const path of paths) app.get(path, { exposeHeadRoute: false }, nothing)
  await app.ready()
  return app.conventions.report().findings.map(({ instead }) => instead)
}

t.test('all invalid routes are one error that lists them', async (t) => {
  const routes = [
    ['GET', '/v1/orderItems', 'uppercase', '/v1/order-items'],
    ['POST', '/v1/users/create', 'words', '/v1/users'],
    ['GET', '/v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
  ] as const
  const app = await guarded()
  for (const [method, url] of routes) app.route({ method, url, handler: nothing })
  const { message } = (await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' })) as Error
  t.match(message, /^3 breaches of conventions in 3 routes\n/)
  for (const [method, path, rule, instead] of routes)
    t.match(unwrapped(message), new RegExp(`\n${method} ${path} +pathGuard\\.${rule} .* ${instead}\n`))
})

t.test('words of the domain: basePath, collections, verbs, selfAliases', async (t) => {
  const rows: readonly (readonly [options: PathGuardOptions, path: string, instead?: string])[] = [
    [{ basePath: '/api' }, '/v1/user/:id', '/v1/users/:id'],
    [{ basePath: '/api/public' }, '/api/public/users', '/api/public/v1/users'],
    [{ collections: ['moon'] }, '/v1/moon'],
    [{ verbs: ['ship'] }, '/v1/orders/:id/ship', 'POST /v1/orders/:id/ship'],
    [{ selfAliases: ['mine'] }, '/v1/user/mine', '/v1/users/mine'],
    [{}, '/v1/user/mine'],
    [{}, '/v1/user/self', '/v1/users/self'],
    [{ rules: { version: 'off' } }, '/user/:id', '/users/:id'],
  ]
  for (const [options, path, instead] of rows) {
    const found = await suggestions(options, path)
    t.strictSame(found, instead === undefined ? [] : [instead], `${path} ${JSON.stringify(options)}`)
  }
})

t.test('without versions, all routes get one suggestion: a prefix, or no such rule', async (t) => {
  const prefix = "register the routes with prefix: '/v1', or set pathGuard: { rules: { version: 'off' } }"
  t.strictSame(await suggestions({}, '/users', '/orders', '/health'), [prefix, prefix])
  const below = prefix.replace('/v1', '/api/v1')
  t.strictSame(await suggestions({ basePath: '/api' }, '/api/users', '/api/orders'), [below, below])
  t.strictSame(await suggestions({}, '/users', '/orders', '/v1/carts'), ['/v1/users', '/v1/orders'])
  t.strictSame(await suggestions({}, '/users'), ['/v1/users'])
})

t.test('the prefix of the context is the base path', async (t) => {
  for (const [prefix, path] of Object.entries({ '/api': '/v1/users', '/api/v1/admin': '/users' })) {
    const app = Fastify()
    const plugin = async (child: FastifyInstance) => {
      await child.register(pathGuard)
      child.get(path, nothing)
    }
    app.register(plugin, { prefix })
    await t.resolves(async () => app.ready(), prefix)
  }
})

t.test('the root of a proxy is not renamed', async (t) => {
  const app = await guarded()
  const proxy = async (child: FastifyInstance) => {
    for (const path of ['/', '/*']) child.get(path, nothing)
  }
  app.register(proxy, { prefix: '/Upstream_Service' })
  for (const path of ['/Static_Files/', '/Static_Files/*']) app.get(path, nothing)
  for (const url of ['/Upstream_Service', '/Upstream_Service/'])
    t.equal((await app.inject(url)).statusCode, 200, url)
  const reasons = app.conventions.report().exceptions.map(({ reason }) => reason)
  t.ok(reasons.includes('the root of a wildcard route: files or a proxy'))
})

t.test('wildcard, WebSocket and hidden routes are not checked, and listed with the reason', async (t) => {
  const app = await guarded()
  app.get('/Files/*', nothing)
  app.get('/Socket', { websocket: true } as object, nothing)
  app.get('/Docs_page', { schema: { hide: true } as object }, nothing)
  app.get('/get_User', { config: { pathGuard: false } }, nothing)
  app.get('/v1/Users', { config: { pathGuard: { except: ['uppercase'], reason: 'published so' } } }, nothing)
  await app.ready()
  const { findings, exceptions } = app.conventions.report()
  t.strictSame(findings, [])
  const told = exceptions.map(({ route, reason, rules }) => [route, reason, rules.length])
  t.strictSame(told, [
    ['GET /Files/*', 'a wildcard route: files or a proxy', 8],
    ['GET /Socket', 'a WebSocket route', 8],
    ['GET /Docs_page', 'hidden from the OpenAPI document: not part of the API', 8],
    ['GET /get_User', 'config.pathGuard is false', 8],
    ['GET /v1/Users', 'published so', 1],
  ])
  for (const url of ['/Files/A', '/Socket', '/Docs_page', '/get_User', '/v1/Users'])
    t.equal((await app.inject(url)).statusCode, 200, `${url} is served`)
})

t.test('on a path that no route serves, the mode of the rule applies', async (t) => {
  for (const [options, code] of [
    [{}, 'path-uppercase'],
    [{ mode: 'report' }, undefined],
    [{ rules: { uppercase: 'off' } }, undefined],
    [{ mode: 'report', rules: { uppercase: 'enforce' } }, 'path-uppercase'],
  ] as const) {
    const response = await (await guarded(options)).inject('/Nothing')
    t.equal(response.statusCode, 404)
    t.equal(response.json().code, code, JSON.stringify(options))
  }
})

t.test('a request that the app refuses anyway is not counted among those that would be lost', async (t) => {
  const app = await guarded({ mode: 'report' })
  app.get('/v1/users/:id', async (request, reply) => {
    if (request.url.endsWith('Known')) return {}
    return reply.code(403).send({})
  })
  app.setNotFoundHandler(({ url }, reply) => reply.code(url.startsWith('/Pages/') ? 200 : 404).send('a page'))
  const users = ['/v1/users/Known', '/v1/users/Known', '/v1/users/Hidden']
  for (const url of [...users, '/Admin.php', '/WP/x', '/Pages/Home']) await app.inject(url)
  const { observations } = app.conventions.report()
  const told = observations.map((one) => [one.route, one.effect, one.status, one.count, one.example])
  t.strictSame(told, [
    ['GET /v1/users/:id', 'refused', 404, 2, '/v1/users/Known'],
    ['GET /v1/users/:id', 'changed', undefined, 1, '/v1/users/Hidden: 403 anyway'],
    ['*', 'changed', undefined, 2, '/Admin.php: 404 anyway'],
    ['*', 'refused', 404, 1, '/Pages/Home'],
  ])
})

t.test('an invalid option is named, with what was expected and received', async (t) => {
  for (const [options, message] of [
    [{ statusCode: 301 }, 'statusCode: expected one of 404, 400, received 301'],
    [{ basePath: '/api/' }, "basePath: expected '' or a path such as '/api', received '/api/'"],
    [{ verbs: [''] }, "verbs[0]: expected a non-empty string, received ''"],
  ] as const) {
    const refused = { code: 'FST_CONV_OPTION_INVALID', message: `pathGuard.${message}` }
    await t.rejects(guarded(options as object), refused)
  }
  const app = await guarded()
  const config = { pathGuard: { params: 'all' } as unknown as PathGuardRouteOptions }
  const expected = "config.pathGuard.params: expected one of 'lowercase', 'any', received 'all'"
  t.throws(() => app.get('/v1/user/:id', { config }, nothing), { message: `GET /v1/user/:id ${expected}` })
})
