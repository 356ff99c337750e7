/** What this package relies on although Fastify does not promise it, on both ends of the supported range. */
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import newest, { type FastifyInstance, type FastifyReply } from 'fastify'
import oldest from 'fastify-oldest'
import t from 'tap'
import * as contexts from '../../src/convention/contexts.js'
import { routesOf } from '../../src/convention/declared-routes.js'
import * as internals from '../../src/convention/internals.js'

// The types of the two are not the same to TypeScript.
const releases = { oldest: oldest as unknown as typeof newest, newest }

for (const [release, Fastify] of Object.entries(releases)) {
  t.test(`${release} Fastify`, async (t) => {
    t.test('has all private fields; a missing one fails the boot, with its name', async (t) => {
      internals.checkInternals(Fastify())
      const app = Fastify()
      const field = Object.getOwnPropertySymbols(app).find((one) => one.description === 'fastify.options')
      t.ok(field !== undefined && Reflect.deleteProperty(app, field))
      t.throws(() => internals.checkInternals(app), { message: /Fastify 5\..*fastify\.options is missing/ })
    })

    t.test('an error handler that the app may replace, once', async (t) => {
      for (const isReplaced of [true, false]) {
        // The oldest release does not have the option.
        const app = Fastify(release === 'oldest' ? {} : { allowErrorHandlerOverride: false })
        const answer = (text: string) => (_error: unknown, _request: unknown, reply: FastifyReply) =>
          void reply.send(text)
        internals.setReplaceableErrorHandler(app, answer('ours'))
        app.get('/', async () => Promise.reject(new Error('broken')))
        if (isReplaced) t.doesNotThrow(() => app.setErrorHandler(answer('theirs')))
        t.equal((await app.inject('/')).body, isReplaced ? 'theirs' : 'ours')
      }
    })

    t.test('body parsers', async (t) => {
      const app = Fastify()
      const [json, form] = ['application/json', 'application/x-www-form-urlencoded']
      const { customParsers } = internals.bodyParsers(app)
      t.strictSame([...customParsers.keys()].sort(), [json, 'text/plain'])
      t.match(customParsers.get(json), { asString: true, asBuffer: false, fn: Function })
      const hasOf = (context: FastifyInstance) => {
        const parsers = internals.bodyParsers(context)
        return [parsers.existingParser(json), parsers.getParser(form) !== undefined]
      }
      t.strictSame(hasOf(app), [false, false])
      await app.register(async (child) => {
        child.addContentTypeParser(/^application\/x-www-form/, (_request, _payload, done) => done(null))
        child.removeContentTypeParser(json)
        child.addContentTypeParser(json, (_request, _payload, done) => done(null))
        t.strictSame(hasOf(child), [true, true])
      })
      t.strictSame(hasOf(app), [false, false], 'a context has its own parsers')
    })

    t.test('formatters and serializers of the app', async (t) => {
      t.strictSame(internals.serverSettings(Fastify()), { trustProxy: false, hasServerFactory: false })
      const serverFactory = (handler: RequestListener) => createServer(handler)
      const proxied = Fastify({ trustProxy: '127.0.0.1', serverFactory })
      t.strictSame(internals.serverSettings(proxied), { trustProxy: '127.0.0.1', hasServerFactory: true })
      const app = Fastify()
      const none = { replySerializer: false, serializer: false, validator: false }
      t.match(internals.ownCompilers(app), none)
      await app.register(async (child) => {
        child.setReplySerializer(() => '')
        t.match(internals.ownCompilers(child), { ...none, replySerializer: true })
        child.setSerializerCompiler(() => () => '')
        t.match(internals.ownCompilers(child), { serializer: true, validator: false })
        child.setValidatorCompiler(() => () => true)
        t.match(internals.ownCompilers(child), { serializer: true, validator: true })
      })
      t.match(internals.ownCompilers(app), none, 'those of a context below are not those of the app')
    })

    t.test('contexts', async (t) => {
      const app = Fastify()
      t.equal(internals.hasErrorHandler(app), false)
      await app.register(async (child) => {
        t.strictSame([contexts.isRoot(app), contexts.isRoot(child)], [true, false])
        t.strictSame([contexts.isWithin(child, app), contexts.isWithin(app, child)], [true, false])
        t.equal(contexts.appKey(child), contexts.appKey(app))
        t.equal(internals.hasErrorHandler(child), false)
        child.setErrorHandler(() => {})
        t.equal(internals.hasErrorHandler(child), true)
        await child.register(async (inner) => t.equal(internals.hasErrorHandler(inner), false))
      })
      app.setErrorHandler(() => {})
      t.equal(internals.hasErrorHandler(app), true)
      t.not(contexts.appKey(app), contexts.appKey(Fastify()))
    })

    t.test('a not-found handler of the app', async (t) => {
      const app = Fastify()
      t.equal(internals.hasNotFoundHandler(app), false)
      app.setNotFoundHandler({} as never)
      t.equal(internals.hasNotFoundHandler(app), false, 'options alone are no handler')
      app.register(async (child) => t.equal(internals.hasNotFoundHandler(child), false), { prefix: '/a' })
      await app.register(async (child) => child.setNotFoundHandler(() => {}))
      t.equal(internals.hasNotFoundHandler(app), true, 'a context without a prefix sets that of its parent')
    })

    t.test('routes that Fastify adds, and whether an app has any', async (t) => {
      const app = Fastify()
      const seen: [string, boolean][] = []
      app.addHook('onRoute', (route) => {
        seen.push([`${[route.method].flat()} ${route.path}`, routesOf(app).of(route).route !== route])
      })
      const nothing = async () => ({})
      app.get('/v1/users/:id', nothing)
      app.head('/v1/own', nothing)
      app.get('/v1/alone', { exposeHeadRoute: false }, nothing)
      app.post('/v1/users', nothing)
      await app.register(async (child) => void child.get('/', nothing), { prefix: '/v1/below' })
      await app.ready()
      const first = 'GET /v1/users/:id,HEAD /v1/users/:id,HEAD /v1/own,GET /v1/alone,POST /v1/users,'
      t.ok(seen.length > 6)
      t.ok(String(seen.map(([name]) => name)).startsWith(first))
      for (const [name, isAdded] of seen)
        t.equal(isAdded, name.startsWith('HEAD') && name !== 'HEAD /v1/own', name)
      t.equal(internals.hasRoutes(app), true)
      t.equal(internals.hasRoutes(Fastify()), false)
    })
  })
}

t.test('the wrapped plugins are tested at the low end of their ranges', async (t) => {
  const { dependencies, peerDependencies } = packageOf('package.json')
  for (const name of ['@fastify/rate-limit', 'helmet']) {
    const { version } = packageOf(`node_modules/${name}/package.json`)
    // An update needs an alias of the oldest version in this file, or a narrower range.
    t.equal(dependencies[name], `^${version}`, name)
  }
  const oldest = packageOf('node_modules/fastify-oldest/package.json').version
  t.equal(peerDependencies.fastify, `^${oldest}`)
})

function packageOf(path: string) {
  return JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))
}
