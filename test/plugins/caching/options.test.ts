/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify, { type FastifyContextConfig } from 'fastify'
import t from 'tap'
import {
  type CachingOptions,
  type CachingRouteOptions,
  caching,
  fields,
  responseRules,
} from '../../../src/index.js'

t.test('invalid options are refused at registration, by their name', async (t) => {
  const invalid = 'FST_CONV_OPTION_INVALID'
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ mode: 'warn' }, invalid, /caching\.mode.*'enforce', 'report', 'off'.*'warn'/],
    [{ cacheControl: true }, invalid, /caching\.cacheControl.*directives or false/],
    [{ cacheControl: 'no-cache' }, invalid, /caching\.cacheControl/],
    [{ cacheControl: [] }, invalid, /caching\.cacheControl/],
    [{ cacheControl: { maxage: 5 } }, 'FST_CONV_OPTION_UNKNOWN', /caching\.cacheControl\.maxage/],
    [{ cacheControl: { maxAge: '5' } }, invalid, /caching\.cacheControl.*maxAge/],
    [{ cacheControl: { public: true, private: true } }, invalid, /caching\.cacheControl.*private forbids/],
    [{ etag: 'weak' }, invalid, /caching\.etag.*true, false/],
    [{ lastModified: '' }, invalid, /caching\.lastModified/],
    [{ lastModified: true }, invalid, /caching\.lastModified/],
    [{ isAuthenticated: true }, invalid, /caching\.isAuthenticated.*a function/],
    [{ now: 5 }, invalid, /caching\.now.*a function/],
    [{ rules: { expires: 'off' } }, 'FST_CONV_OPTION_UNKNOWN', /caching\.rules\.expires/],
    [{ exceptions: [{ url: '/v1' }] }, invalid, /caching\.exceptions\[0\]/],
    [{ maxAge: 5 }, 'FST_CONV_OPTION_UNKNOWN', /caching\.maxAge.*cacheControl/],
    [{ validators: () => null }, 'FST_CONV_OPTION_UNKNOWN', /caching\.validators/],
  ]
  for (const [options, code, message] of wrong) {
    const register = async () => Fastify().register(caching, options as CachingOptions)
    await t.rejects(register, { code, message }, JSON.stringify(options))
  }
})

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = Fastify()
  await app.register(caching)
  const invalid = 'FST_CONV_OPTION_INVALID'
  const wrong: readonly (readonly [config: unknown, code: string, name: string])[] = [
    [true, invalid, ''],
    [null, invalid, ''],
    [{ mode: 'warn' }, invalid, '.mode'],
    [{ cacheControl: 'no-store' }, invalid, '.cacheControl'],
    [{ cacheControl: [] }, invalid, '.cacheControl'],
    [{ etag: 'v1' }, invalid, '.etag'],
    [{ lastModified: 5 }, invalid, '.lastModified'],
    [{ expires: true }, invalid, '.expires'],
    [{ vary: 'Accept' }, invalid, '.vary'],
    [{ vary: ['a b'] }, invalid, '.vary[0]'],
    [{ validators: {} }, invalid, '.validators'],
    [{ preconditions: true }, invalid, '.preconditions'],
    [{ preconditions: 'required' }, invalid, '.preconditions'],
    [{ except: ['private'] }, invalid, '.reason'],
    [{ maxAge: 5 }, 'FST_CONV_OPTION_UNKNOWN', '.maxAge'],
    [{ now: Date.now }, 'FST_CONV_OPTION_UNKNOWN', '.now'],
  ]
  for (const [config, code, name] of wrong) {
    const add = () => app.get('/v1/users', { config: { caching: config as CachingRouteOptions } }, () => ({}))
    const error = t.throws(add, { code }, JSON.stringify(config)) as Error
    t.match(error.message, `GET /v1/users config.caching${name}`)
  }
})

t.test('mode off of the plugin or of a route: the helpers still exist', async (t) => {
  const app = Fastify()
  await app.register(caching, { mode: 'off' })
  app.get('/v1/users', (_, reply) => reply.caching({ etag: 'own', vary: 'accept' }).send({}))
  const { headers } = await app.inject({ url: '/v1/users', headers: { 'if-none-match': '"own"' } })
  t.match(headers, { etag: '"own"', vary: 'accept' })
  t.notOk('cache-control' in headers)
  t.notOk('cache-control' in (await app.inject('/v1/nowhere')).headers)
})

t.test('an exception for a path applies, and one that nothing needs is listed', async (t) => {
  const app = Fastify()
  await app.register(caching, {
    exceptions: [
      { url: '/v1/old/*', except: ['private'], reason: 'the same for all' },
      { url: '/v1/gone', except: ['private'], reason: 'no longer there' },
    ],
  })
  const config = {
    caching: { cacheControl: { public: true } },
    fields: { hidden: { name: () => true } },
  } as const
  app.get('/v1/old/users', { config }, () => ({}))
  await app.ready()
  t.match(app.conventions.report(), {
    findings: [],
    exceptions: [
      { route: 'GET /v1/old/users', rules: ['private'], reason: 'the same for all', unused: false },
      { route: '/v1/gone', unused: true },
    ],
  })
})

t.test('options are read once: changing them later changes nothing', async (t) => {
  const options = { etag: false, lastModified: 'a' }
  const app = Fastify()
  await app.register(caching, options)
  options.etag = true
  app.get('/v1/users', () => ({}))
  t.notOk('etag' in (await app.inject('/v1/users')).headers)
})

t.test('twice in one context is an error', async (t) => {
  const app = Fastify()
  await app.register(caching)
  await t.rejects(async () => app.register(caching), { code: 'FST_CONV_ALREADY_REGISTERED' })
})

t.test('the types know the options', async (t) => {
  const app = Fastify()
  await app.register(caching)
  const add = (config: FastifyContextConfig): void => void app.get('/v1/users', { config }, () => 1)
  const wrong = { code: /FST_CONV_OPTION_(INVALID|UNKNOWN)/ }
  // @ts-expect-error: directives are typed
  t.throws(() => add({ caching: { cacheControl: 'no-store' } }), wrong)
  // @ts-expect-error: of the plugin alone
  t.throws(() => add({ caching: { now: Date.now } }), wrong)
  // @ts-expect-error: on is what it is without a word
  t.throws(() => add({ caching: true }), wrong)
})

t.test('a hidden field that a header would show is a finding at boot', async (t) => {
  const when = () => true
  const hiding = (
    hidden: Record<string, true | (() => boolean)>,
    caching: CachingRouteOptions | false = {},
  ) => ({
    config: { fields: { hidden }, caching },
    schema: {
      response: {
        200: {
          type: 'object',
          properties: { id: { type: 'integer' }, name: {}, updated_at: {}, seen_at: {} },
        },
      },
    },
  })
  const shared = { cacheControl: { public: true, maxAge: 60 } }
  const seen = { lastModified: 'seen_at' }
  const excepted = { except: ['private'] as const, reason: 'the date is public', mode: 'enforce' as const }
  const found: readonly (readonly [path: string, route: ReturnType<typeof hiding>])[] = [
    ['/v1/always', hiding({ updated_at: true })],
    ['/v1/sometimes', hiding({ updated_at: when })],
    ['/v1/named', hiding({ seen_at: true }, seen)],
    ['/v1/unstored', hiding({ updated_at: true }, { cacheControl: { noStore: true } })],
    ['/v1/public', hiding({ name: when }, shared)],
    ['/v1/shared', hiding({ name: when }, { cacheControl: { sMaxAge: 60 } })],
  ]
  const fine: readonly (readonly [path: string, route: ReturnType<typeof hiding>])[] = [
    ['/v1/other', hiding({ name: true, updated_at: true }, seen)],
    ['/v1/undated', hiding({ updated_at: true }, { lastModified: false })],
    ['/v1/private', hiding({ name: when }, { cacheControl: { private: true, maxAge: 60 } })],
    ['/v1/default', hiding({ name: when })],
    ['/v1/same-for-all', hiding({ name: true }, shared)],
    ['/v1/confidential', hiding({ name: when }, { cacheControl: { noStore: true } })],
    ['/v1/left-alone', hiding({ updated_at: true }, false)],
    ['/v1/excepted', hiding({ updated_at: true }, excepted)],
  ]
  for (const mode of ['enforce', 'report'] as const) {
    for (const [path, route] of [...found, ...fine]) {
      const app = Fastify()
      await app.register(fields)
      await app.register(caching, { rules: { private: mode } })
      app.get(path, route, () => ({ id: 1 }))
      const isFound = found.some(([broken]) => broken === path)
      if (mode === 'enforce' && isFound) {
        await t.rejects(async () => app.ready(), {
          code: 'FST_CONV_FINDINGS',
          message: new RegExp(`GET ${path} +caching\\.private`),
        })
        continue
      }
      await app.ready()
      const told = app.conventions.report().findings.filter(({ rule }) => rule === 'private')
      t.equal(told.length, isFound ? 1 : 0, `${mode} ${path}`)
    }
  }
  const app = Fastify()
  await app.register(fields)
  await app.register(caching, shared)
  app.get('/v1/default', hiding({ name: when }), () => ({ id: 1 }))
  await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' }, 'also by the options of the plugin')
})

t.test('in camelCase the date is that of updatedAt, unless lastModified is set', async (t) => {
  const answer = { updatedAt: '2026-11-19T08:00:00Z', updated_at: '2026-11-18T08:00:00Z' }
  for (const [options, expected] of [
    [{}, 'Thu, 19 Nov 2026 08:00:00 GMT'],
    [{ lastModified: 'updated_at' }, 'Wed, 18 Nov 2026 08:00:00 GMT'],
    [{ lastModified: false }, undefined],
  ] as const) {
    const app = Fastify()
    await app.register(responseRules, { keyStyle: 'camelCase', rules: { keys: 'off' } })
    await app.register(caching, options)
    app.get('/v1/users/:id', () => answer)
    t.equal((await app.inject('/v1/users/1')).headers['last-modified'], expected)
  }
})
