import Fastify, { type FastifyInstance, type HTTPMethods } from 'fastify'
import t from 'tap'
import { type PathGuardOptions, pathGuard } from '../../../src/index.js'
import { unwrapped } from '../../support/report-table.js'

const nothing = async (): Promise<object> => ({})

t.test('all invalid routes are one error that lists them', async (t) => {
  const routes: readonly (readonly [method: HTTPMethods, path: string, rule: string, instead: string])[] = [
    ['GET', '/v1/orderItems', 'uppercase', '/v1/order-items'],
    ['POST', '/v1/users/create', 'words', '/v1/users'],
    ['GET', '/v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
  ]
  const app = Fastify()
  await app.register(pathGuard)
  for (const [method, url] of routes) app.route({ method, url, handler: nothing })
  const { message } = (await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' })) as Error
  t.match(message, /^3 breaches of conventions in 3 routes\n/)
  for (const [method, path, rule, instead] of routes)
    t.match(unwrapped(message), new RegExp(`\n${method} ${path} +pathGuard\\.${rule} .* ${instead}\n`))
})

t.test('words of the domain: basePath, collections, verbs, selfAliases', async (t) => {
  const rows: readonly (readonly [options: PathGuardOptions, path: string, instead?: string])[] = [
    [{ basePath: '/api' }, '/api/v1/users'],
    [{ basePath: '/api' }, '/v1/user/:id', '/v1/users/:id'],
    [{ basePath: '/api/public' }, '/api/public/users', '/api/public/v1/users'],
    [{ collections: ['moon'] }, '/v1/moon'],
    [{}, '/v1/moon', '/v1/moons'],
    [{ verbs: ['ship'] }, '/v1/orders/:id/ship', 'POST /v1/orders/:id/ship'],
    [{}, '/v1/orders/:id/ship'],
    [{ selfAliases: ['mine'] }, '/v1/user/mine', '/v1/users/mine'],
    [{}, '/v1/user/mine'],
    [{}, '/v1/user/me', '/v1/users/me'],
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
  for (const [prefix, path] of [
    ['/api', '/v1/users'],
    ['/api/v1/admin', '/users'],
  ] as const) {
    const app = Fastify()
    app.register(
      async (child) => {
        await child.register(pathGuard)
        child.get(path, nothing)
      },
      { prefix },
    )
    await t.resolves(async () => app.ready(), prefix)
  }
})

t.test('the root of a proxy is not renamed', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  for (const path of ['/Static_Files/', '/Static_Files/*']) app.get(path, nothing)
  const proxy = async (child: FastifyInstance) => {
    for (const path of ['/', '/*']) child.get(path, nothing)
  }
  app.register(proxy, { prefix: '/Upstream_Service' })
  await app.ready()
  t.equal((await app.inject('/Upstream_Service')).statusCode, 200)
  t.equal((await app.inject('/Upstream_Service/')).statusCode, 200)
  const reasons = app.conventions.report().exceptions.map(({ reason }) => reason)
  t.ok(reasons.includes('the root of a wildcard route: files or a proxy'))
})

/** What to write instead of each path that breaks a rule. */
async function suggestions(options: PathGuardOptions, ...paths: string[]): Promise<readonly unknown[]> {
  const app = Fastify()
  await app.register(pathGuard, { ...options, mode: 'report' })
  for (const path of paths) app.get(path, { exposeHeadRoute: false }, nothing)
  await app.ready()
  return app.conventions.report().findings.map(({ instead }) => instead)
}
