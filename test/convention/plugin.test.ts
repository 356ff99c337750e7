import Fastify from 'fastify'
import t from 'tap'
import { conventionPlugin } from '../../src/convention/plugin.js'
import conventions, { pathGuard, problems } from '../../src/index.js'

const twice = { code: 'FST_CONV_ALREADY_REGISTERED' }

t.test('a convention is not encapsulated: it serves the context that registers it', async (t) => {
  const app = Fastify()
  await app.register(
    conventionPlugin('greeting', (context) => {
      context.decorate('greet', () => 'hello')
    }),
  )

  t.ok(app.hasDecorator('greet'))
})

t.test('a convention gets its options, and is awaited', async (t) => {
  const steps: string[] = []
  const app = Fastify()
  await app.register(
    conventionPlugin<{ readonly word?: string }>('slow', async (_context, options) => {
      await Promise.resolve()
      steps.push(`set up with ${options.word}`)
    }),
    { word: 'this' },
  )
  steps.push('registered')

  t.strictSame(steps, ['set up with this', 'registered'])
})

t.test('an error while it is set up stops the boot', async (t) => {
  const app = Fastify()
  const broken = conventionPlugin('broken', () => {
    throw new Error('out of order')
  })

  await t.rejects(async () => app.register(broken), { message: 'out of order' })
})

t.test('a second registration throws FST_CONV_ALREADY_REGISTERED', async (t) => {
  t.test('in the same context', async (t) => {
    const app = Fastify()
    await app.register(problems)

    await t.rejects(async () => app.register(problems), {
      ...twice,
      message:
        'problems is already registered in this context or in one above it; ' +
        'for single routes, use `config`',
    })
  })

  t.test('in a child context, which it serves too', async (t) => {
    const app = Fastify()
    await app.register(problems)
    app.register(async (child) => {
      await child.register(problems)
    })

    await t.rejects(async () => app.ready(), twice)
  })
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

t.test('the parent of a context that has it may register it too', async (t) => {
  const app = Fastify()
  app.register(async (child) => {
    await child.register(pathGuard)
    child.get('/v1/users', async () => ({}))
  })
  await app.register(pathGuard)
  app.get('/v1/orders', async () => ({}))
  await app.ready()

  t.equal((await app.inject('/v1/users')).statusCode, 200)
  t.equal((await app.inject('/v1/Orders')).statusCode, 404)
})

t.test('Fastify knows its name, and refuses it in an unsupported version', async (t) => {
  const app = Fastify()
  const plugin = conventionPlugin('greeting', () => {})
  await app.register(plugin)

  t.ok(app.hasPlugin('fastify-conventions/greeting'))
  t.match(Reflect.get(plugin, Symbol.for('plugin-meta')), { fastify: '5.x' })
})

t.test('a misspelt name of a convention in config stops the boot', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  const config: object = { idempotancy: { required: true } }
  app.get('/v1/users', { config }, async () => ({}))
  const misspelt = {
    code: 'FST_CONV_FINDINGS',
    message: /GET \/v1\/users .*config\.idempotancy.*config\.idempotency/,
  }
  await t.rejects(async () => app.ready(), misspelt)
})

t.test('in report mode it is one finding, and values that are no options are left alone', async (t) => {
  const app = Fastify()
  await app.register(conventions, { mode: 'report', lists: { mode: 'off' } })
  const config: object = { version: '2', field: 1, cach: {}, ratelimit: false, list: {}, idempotency: {} }
  app.get('/v1/users', { config }, async () => ({}))
  await app.ready()
  const { findings } = app.conventions.report()
  t.same(
    findings.filter(({ rule }) => rule === 'config').map(({ route, instead }) => [route, instead]),
    [['GET /v1/users', 'config.rateLimit']],
  )
})
