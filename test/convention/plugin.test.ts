import Fastify from 'fastify'
import t from 'tap'
import { conventionPlugin } from '../../src/convention/plugin.js'
import conventions, { problems } from '../../src/index.js'

const handler = async () => ({})

t.test('a convention gets its options, is awaited, and serves the context that registers it', async (t) => {
  const app = Fastify()
  const plugin = conventionPlugin<{ readonly word?: string }>('greeting', async (context, { word }) => {
    await Promise.resolve()
    context.decorate('greet', () => word)
  })
  await app.register(plugin, { word: 'hello' })
  t.equal(app.getDecorator<() => string>('greet')(), 'hello')
  t.ok(app.hasPlugin('fastify-conventions/greeting'), 'Fastify knows its name')
  t.match(Reflect.get(plugin, Symbol.for('plugin-meta')), { fastify: '5.x' }, 'and its versions of Fastify')
})

t.test('a second registration in the same context, or in one below, is refused', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const message = /^problems is already registered in this context or in one above it; for single routes, use/
  const refused = { code: 'FST_CONV_ALREADY_REGISTERED', message }
  await t.rejects(async () => app.register(problems), refused)

  const above = Fastify()
  await above.register(problems)
  above.register(async (child) => void (await child.register(problems)))
  await t.rejects(async () => above.ready(), refused)
})

t.test('two sibling contexts may register it once each', async (t) => {
  const app = Fastify()
  for (const prefix of ['/v1', '/v2']) {
    app.register(
      async (child) => {
        await child.register(problems, { typeBase: `https://errors.example${prefix}/` })
        child.get('/users', async () => Promise.reject(new Error('broken')))
      },
      { prefix },
    )
  }

  for (const prefix of ['/v1', '/v2']) {
    const { type } = (await app.inject(`${prefix}/users`)).json()
    t.equal(type, `https://errors.example${prefix}/internal-server-error`)
  }
})

t.test('a misspelt name in config stops the boot, or is reported; other values are left alone', async (t) => {
  const enforcing = Fastify()
  await enforcing.register(conventions)
  const misspelt: object = { idempotancy: { required: true } }
  enforcing.get('/v1/users', { config: misspelt }, handler)
  const message = /GET \/v1\/users .*config\.idempotancy.*config\.idempotency/
  await t.rejects(async () => enforcing.ready(), { code: 'FST_CONV_FINDINGS', message })

  const app = Fastify()
  await app.register(conventions, { mode: 'report', lists: { mode: 'off' } })
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
