import Fastify, { type FastifyInstance, type HTTPMethods } from 'fastify'
import t, { type Test } from 'tap'
import { type Finding, type PathGuardOptions, pathGuard } from '../../../src/index.js'
import { unwrapped } from '../../support/report-table.js'

const nothing = async (): Promise<object> => ({})

/** A route, the rule that it breaks and what to write instead. */
type BadRoute = readonly [method: HTTPMethods, path: string, rule: string, instead: string]

/** Twelve ways to be wrong; together they break every rule. */
const twelve: readonly BadRoute[] = [
  ['GET', '/v1/orderItems', 'uppercase', '/v1/order-items'],
  ['GET', '/v1/Subscriptions', 'uppercase', '/v1/subscriptions'],
  ['GET', '/v1/order_items', 'underscore', '/v1/order-items'],
  ['POST', '/v1/users/:id/verify_email', 'underscore', '/v1/users/:id/verify-email'],
  ['GET', '/v1/order items', 'encoding', '/v1/order-items'],
  ['GET', '/v1/user/:id', 'plural', '/v1/users/:id'],
  ['GET', '/v1/orders/:id/payment/:nr', 'plural', '/v1/orders/:id/payments/:nr'],
  ['GET', '/v1/users/list', 'words', '/v1/users'],
  ['POST', '/v1/users/create', 'words', '/v1/users'],
  ['GET', '/friends', 'version', '/v1/friends'],
  ['GET', '/v1/orders/:id/cancel', 'action', 'POST /v1/orders/:id/cancel'],
  ['GET', '/v1/payments/', 'slash', '/v1/payments'],
]

t.test('twelve invalid routes are one error that lists all twelve', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  for (const [method, url] of twelve) app.route({ method, url, handler: nothing })
  const { code, message } = await bootError(app)
  t.equal(code, 'FST_CONV_FINDINGS')
  t.match(message, /^12 breaches of conventions in 12 routes\n\nroute +rule +what is wrong +write instead\n/)
  t.match(message, "pathGuard.words       config.pathGuard.except: ['words']")
  const lines = unwrapped(message)
  for (const [method, path, rule] of twelve) t.match(lines, `\n${method} ${path}  pathGuard.${rule}  `)
  const { findings } = app.conventions.report()
  const expected = twelve.map(([method, path, rule, instead]) => [`${method} ${path}`, rule, instead])
  t.strictSame(
    findings.map(({ route, rule, instead }) => [route, rule, instead]),
    expected,
  )
})

t.test('the HEAD route that Fastify adds to a GET is not reported; one of the app is', async (t) => {
  for (const method of [['GET'], ['GET', 'HEAD'], ['HEAD', 'GET'], ['HEAD']] as const) {
    const app = Fastify()
    await app.register(pathGuard, { mode: 'report' })
    app.route({ method: [...method], url: '/v1/Users', handler: nothing })
    await app.ready()
    t.strictSame(findingsOf(app), [[`${method.join(', ')} /v1/Users`, 'uppercase']])
  }
})

t.test('words of the domain: basePath, collections, verbs, selfAliases', async (t) => {
  await keeps(t, { basePath: '/api' }, 'GET', '/api/v1/users')
  await breaks(t, { basePath: '/api' }, 'GET', '/v1/user/:id', 'plural', '/v1/users/:id')
  await breaks(t, { basePath: '/api/public' }, 'GET', '/api/public/users', 'version', '/api/public/v1/users')
  await keeps(t, { collections: ['moon'] }, 'GET', '/v1/moon')
  await breaks(t, {}, 'GET', '/v1/moon', 'plural', '/v1/moons')
  await breaks(t, { verbs: ['ship'] }, 'GET', '/v1/orders/:id/ship', 'action', 'POST /v1/orders/:id/ship')
  await keeps(t, {}, 'GET', '/v1/orders/:id/ship')
  await breaks(t, { selfAliases: ['mine'] }, 'GET', '/v1/user/mine', 'plural', '/v1/users/mine')
  await keeps(t, {}, 'GET', '/v1/user/mine')
})

t.test('without versions, all routes get one suggestion: a prefix, or no such rule', async (t) => {
  const instead = async (options: PathGuardOptions, ...paths: string[]): Promise<unknown> => {
    const app = Fastify()
    await app.register(pathGuard, { ...options, mode: 'report' })
    for (const path of paths) app.get(path, nothing)
    await app.ready()
    return app.conventions.report().findings.map((finding) => finding.instead)
  }
  const prefix = "register the routes with prefix: '/v1', or set pathGuard: { rules: { version: 'off' } }"
  t.strictSame(await instead({}, '/users', '/orders', '/health'), [prefix, prefix])
  const below = prefix.replace('/v1', '/api/v1')
  t.strictSame(await instead({ basePath: '/api' }, '/api/users', '/api/orders'), [below, below])
  t.strictSame(await instead({}, '/users', '/orders', '/v1/carts'), ['/v1/users', '/v1/orders'])
  t.strictSame(await instead({}, '/users'), ['/v1/users'])
})

t.test('the prefix of the context is the base path', async (t) => {
  for (const [prefix, path] of [
    ['/api', '/v1/users'],
    ['/api/v1', '/users'],
    ['/api/v1/admin', '/users'],
    ['/v1', '/users'],
  ] as const) {
    const app = Fastify()
    const inChild = async (child: FastifyInstance) => {
      await child.register(pathGuard)
      child.get(path, nothing)
    }
    app.register(inChild, { prefix })
    await t.resolves(async () => app.ready(), prefix)
  }
})

t.test('the root of a proxy is not renamed', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
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

async function keeps(t: Test, options: PathGuardOptions, method: HTTPMethods, url: string): Promise<void> {
  t.strictSame(await findings(options, method, url), [], `${method} ${url} ${JSON.stringify(options)}`)
}

async function breaks(
  t: Test,
  options: PathGuardOptions,
  method: HTTPMethods,
  url: string,
  rule: string,
  instead: string,
): Promise<void> {
  const found = await findings(options, method, url)
  const finding = found.find((one) => one.rule === rule)
  t.equal(finding?.instead, instead, `${method} ${url} ${JSON.stringify(options)}`)
}

async function findings(
  options: PathGuardOptions,
  method: HTTPMethods,
  url: string,
): Promise<readonly Finding[]> {
  const app = Fastify()
  await app.register(pathGuard, { ...options, mode: 'report' })
  app.route({ method, url, handler: nothing })
  await app.ready()
  return app.conventions.report().findings
}

function findingsOf(app: FastifyInstance): (readonly [route: string, rule: string])[] {
  return app.conventions.report().findings.map(({ route, rule }) => [route, rule])
}

async function bootError(app: FastifyInstance): Promise<Error & { readonly code?: string }> {
  try {
    await app.ready()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('the app boots')
}
