import fastifyCors from '@fastify/cors'
import fastifyHelmet from '@fastify/helmet'
import fastifyRateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { conventionPlugin } from '../../src/convention/plugin.js'
import conventions, { lists, problems } from '../../src/index.js'
import { optional, text } from '../../src/options.js'
import { appOf } from '../support/app.js'
import { rethrowUnwrapped } from '../support/report-table.js'

const handler = async () => ({})

t.test('a convention gets its options, is awaited, and serves the context that registers it', async (t) => {
  const app = Fastify()
  const plugin = conventionPlugin('greeting', { word: optional(text()) }, async (context, { word }) => {
    await Promise.resolve()
    context.decorate('greet', () => word)
  })
  await app.register(plugin, { word: 'hello' })
  t.equal(app.getDecorator<() => string>('greet')(), 'hello')
  t.ok(app.hasPlugin('fastify-conventions/greeting'), 'Fastify knows its name')
  t.match(Reflect.get(plugin, Symbol.for('plugin-meta')), { fastify: '5.x' }, 'and its versions of Fastify')
})

t.test('a second registration in the same context, or in one below, is refused', async (t) => {
  const message = /^problems is already registered in this context or in one above it; for single routes, use/
  const refused = { code: 'FST_CONV_ALREADY_REGISTERED', message }
  for (const first of [problems, conventions] as readonly (typeof problems)[]) {
    const app = await appOf(first)
    await t.rejects(async () => app.register(problems), refused)
  }
  const above = await appOf(problems)
  above.register(async (child) => void (await child.register(problems)))
  await t.rejects(async () => above.ready(), refused)
})

t.test('two sibling contexts may register it once each', async (t) => {
  const app = Fastify()
  for (const prefix of ['/v1', '/v2']) {
    const inContext = async (child: FastifyInstance) => {
      const options = { prefix, logLevel: 'warn' as const, typeBase: `https://errors.example${prefix}/` }
      await child.register(problems, options)
      child.get('/users', async () => Promise.reject(new Error('broken')))
    }
    app.register(inContext, { prefix })
  }
  for (const prefix of ['/v1', '/v2']) {
    const { type } = (await app.inject(`${prefix}/users`)).json()
    t.equal(type, `https://errors.example${prefix}/internal-server-error`)
  }
})

t.test('a misspelt name in config stops the boot, or is reported; other values are left alone', async (t) => {
  const enforcing = await appOf(conventions)
  const misspelt: object = { idempotancy: { required: true } }
  enforcing.get('/v1/users', { config: misspelt }, handler)
  const message = /GET \/v1\/users .*config\.idempotancy.*config\.idempotency/
  await t.rejects(async () => enforcing.ready(), { code: 'FST_CONV_FINDINGS', message })

  const app = await appOf([conventions, { mode: 'report', lists: { mode: 'off' } }])
  const config: object = { version: '2', field: 1, cach: {}, ratelimit: false, list: {}, idempotency: {} }
  app.get('/v1/users', { config }, handler)
  // `operations` has no mode of its own.
  app.get('/v1/orders', { config: { operation: {} } as object }, handler)
  await app.ready()
  const found = app.conventions.report().findings.filter(({ rule }) => rule === 'config')
  t.match(found.map(({ route, instead }) => [route, instead]).sort(), [
    ['GET /v1/orders', 'config.operations'],
    ['GET /v1/users', 'config.rateLimit'],
  ])
})

/** What the options of a route are found to be when the app boots. */
async function found(plugin: unknown, options: object, route: object, other?: unknown) {
  const app = Fastify()
  if (other !== undefined) await app.register(other as typeof fastifyRateLimit)
  await app.register(plugin as typeof conventions, options)
  if (plugin === conventions) app.operations.define('work', async () => {})
  app.get('/v1/users', route, handler)
  await app.ready()
  const findings = app.conventions.report().findings.filter(({ rule }) => rule === 'config')
  return findings.map(({ route, problem, mode, effect }) => `${route} ${problem}: ${mode}, ${effect}`)
}

t.test('options beside config, which nothing reads, stop the boot', async (t) => {
  const beside = { bearer: { scopes: ['admin'] }, logLevel: 'warn' }
  const message = /config: \{ bearer: … \}/
  const booted = found(conventions, {}, beside).catch(rethrowUnwrapped)
  await t.rejects(booted, { code: 'FST_CONV_FINDINGS', message })
  const told = 'GET /v1/users the option bearer of a route is not read: report, boot stopped'
  t.strictSame(await found(conventions, { mode: 'report' }, beside), [told])
  t.strictSame(await found(conventions, { mode: 'off' }, beside), [])
  t.strictSame(await found(problems, {}, beside), [])
})

t.test('plugins that set header fields are to be registered before the preset', async (t) => {
  for (const order of ['before', 'after'] as const) {
    const app = Fastify()
    const others = async () => void (await app.register(fastifyCors).register(fastifyHelmet))
    if (order === 'before') await others()
    await app.register(conventions)
    if (order === 'after') await others()
    app.get('/v1/users', handler)
    await app.ready()
    const found = app.conventions.report().findings.filter(({ rule }) => rule === 'order')
    const told = found.map(({ problem, effect }) => `${problem} ${effect}`)
    t.match(told, order === 'before' ? [] : [/^@fastify\/cors is.* none$/, /^@fastify\/helmet is.* none$/])
    const refused = await app.inject({ url: '/v1/Users', headers: { origin: 'https://a.example' } })
    t.equal(refused.headers['access-control-allow-origin'], order === 'before' ? '*' : undefined)
  }
})

t.test('options of a convention that is left out stop the boot beside the preset', async (t) => {
  const rows: readonly (readonly [options: object, config: object, problem: string | null])[] = [
    [{}, { bearer: { scopes: ['a'] } }, 'config.bearer is not read, because bearer is not registered here'],
    [{ lists: false }, { lists: true }, 'config.lists is not read, because lists is not registered here'],
    [{}, { formats: ['xml'] }, 'config.formats is not read, because formats is not registered here'],
    [{}, { bearr: { scopes: ['a'] } }, 'config.bearr is not read by anything of this package'],
    [{}, { bearer: false, formats: 'all', xsrf: null, lists: {} }, null],
    // The routes of operations have options for both.
    [{ lists: false, responseRules: false, identify: () => null }, {}, null],
  ]
  for (const [options, config, problem] of rows) {
    const expected = problem === null ? [] : [`GET /v1/users ${problem}: report, boot stopped`]
    t.strictSame(await found(conventions, { ...options, mode: 'report' }, { config }), expected)
    if (problem === null) await t.resolves(found(conventions, options, { config }))
    else {
      const stopped = { code: 'FST_CONV_FINDINGS', message: /conventions\.config/ }
      await t.rejects(found(conventions, options, { config }), stopped, problem)
    }
    t.strictSame(await found(conventions, { ...options, mode: 'off' }, { config }), [])
  }
  const reported = 'config.bearer is not read, because bearer is not registered here: report, none'
  t.strictSame(await found(problems, {}, { config: { bearer: {}, bearr: {} } }), [
    `GET /v1/users ${reported}`,
  ])
  const late = await appOf(problems)
  late.get('/v1/users', { config: { lists: true } }, handler)
  await late.register(lists, { earlierRoutes: [{ url: '/v1/users', reason: 'older' }] })
  await late.ready()
  t.strictSame(late.conventions.report().findings, [], 'one that is later has a finding of its own')
  for (const [name, other] of Object.entries({ rateLimit: fastifyRateLimit, cors: fastifyCors })) {
    const config = { [name]: {} }
    t.strictSame(await found(conventions, { [name]: false }, { config }, other), [], `${name} of Fastify`)
  }
})
