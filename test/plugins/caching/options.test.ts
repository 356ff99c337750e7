/** Options of the plugin and of routes: checked at boot, the nearest word counts. */
import Fastify from 'fastify'
import t from 'tap'
import {
  type CachingOptions,
  type CachingRouteOptions,
  caching,
  fields,
  responseRules,
} from '../../../src/index.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

t.test('invalid options are refused at registration, by their name', async (t) => {
  const invalid = 'FST_CONV_OPTION_INVALID'
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ mode: 'warn' }, invalid, /caching\.mode.*'enforce', 'report', 'off'.*'warn'/],
    [{ cacheControl: true }, invalid, /caching\.cacheControl.*directives or false/],
    [{ cacheControl: { maxage: 5 } }, 'FST_CONV_OPTION_UNKNOWN', /caching\.cacheControl\.maxage/],
    [{ cacheControl: { maxAge: '5' } }, invalid, /caching\.cacheControl.*maxAge/],
    [{ cacheControl: { public: true, private: true } }, invalid, /caching\.cacheControl.*private forbids/],
    [{ etag: 'weak' }, invalid, /caching\.etag.*true, false/],
    [{ lastModified: '' }, invalid, /caching\.lastModified/],
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
  const soon = Date.now() + 60_000
  const wrong: readonly (readonly [config: unknown, name: string])[] = [
    [true, ''],
    [null, ''],
    [{ mode: 'warn' }, '.mode'],
    [{ cacheControl: [] }, '.cacheControl'],
    [{ cacheControl: { immutable: true, noCache: true } }, '.cacheControl: expected directives without'],
    [{ etag: 'v1' }, '.etag'],
    [{ lastModified: 5 }, '.lastModified'],
    [{ expires: true }, '.expires'],
    [{ expires: '2026-12-01T00:00:00Z' }, '.expires: expected an HTTP-date within a year'],
    [{ expires: 'Fri, 20 Nov 2020 12:00:00 GMT' }, '.expires: expected an HTTP-date within a year'],
    [{ expires: Date.now() + 2 * 365 * 86_400_000 }, '.expires: expected an HTTP-date within a year'],
    [{ expires: soon, cacheControl: { noStore: true } }, '.expires: expected none beside noStore'],
    [{ vary: 'Accept' }, '.vary'],
    [{ vary: ['a b'] }, '.vary[0]'],
    [{ validators: {} }, '.validators'],
    [{ preconditions: true }, '.preconditions'],
    [{ preconditions: 'required' }, '.preconditions'],
    [{ except: ['private'] }, '.reason'],
    [{ maxAge: 5 }, '.maxAge'],
    [{ now: Date.now }, '.now'],
  ]
  for (const [config, name] of wrong) {
    const add = () => app.get('/v1/users', { config: { caching: config as CachingRouteOptions } }, () => ({}))
    const code = /maxAge|now/.test(name) ? 'FST_CONV_OPTION_UNKNOWN' : 'FST_CONV_OPTION_INVALID'
    const error = t.throws(add, { code }, JSON.stringify(config)) as Error
    t.match(error.message, `GET /v1/users config.caching${name}`)
  }
  // @ts-expect-error: the types know the options
  const typed: CachingRouteOptions = { now: Date.now }
  t.throws(() => app.get('/v1/users', { config: { caching: typed } }, () => 1))
})

t.test('a hidden field that a header would show is a finding at boot', async (t) => {
  const when = () => true
  const shared = { cacheControl: { public: true, maxAge: 60 } }
  const confidential = { cacheControl: { noStore: true } }
  const seen = { lastModified: 'seen_at' }
  const excepted = { except: ['private'] as const, reason: 'the date is public', mode: 'enforce' as const }
  const rows: readonly (readonly [
    isFound: boolean,
    hidden: Record<string, true | (() => boolean)>,
    own: CachingRouteOptions | false,
  ])[] = [
    [true, { updated_at: true }, {}],
    [true, { updated_at: when }, {}],
    [true, { seen_at: true }, seen],
    [true, { updated_at: true }, confidential],
    [true, { name: when }, shared],
    [true, { name: when }, { cacheControl: { sMaxAge: 60 } }],
    [false, { name: true, updated_at: true }, seen],
    [false, { updated_at: true }, { lastModified: false }],
    [false, { name: when }, { cacheControl: { private: true, maxAge: 60 } }],
    [false, { name: when }, {}],
    [false, { name: true }, shared],
    [false, { name: when }, confidential],
    [false, { updated_at: true }, false],
    [false, { updated_at: true }, excepted],
  ]
  const properties = { id: { type: 'integer' }, name: {}, updated_at: {}, seen_at: {} }
  const schema = { response: { 200: { type: 'object', properties } } }
  const appWith = async (mode: 'enforce' | 'report', options: CachingOptions = {}) => {
    const app = Fastify()
    await app.register(fields)
    await app.register(caching, { rules: { private: mode }, ...options })
    for (const [index, [, hidden, own]] of rows.entries())
      app.get(`/v1/${index}/end`, { schema, config: { fields: { hidden }, caching: own } }, () => ({ id: 1 }))
    // The response to a write has no date.
    app.put('/v1/users', { schema, config: { fields: { hidden: { updated_at: true } } } }, () => ({ id: 1 }))
    return app
  }
  const reporting = await appWith('report')
  await reporting.ready()
  const found = reporting.conventions.report().findings.filter(({ rule }) => rule === 'private')
  t.strictSame(
    found.map(({ route }) => route),
    rows.flatMap(([isFound], index) => (isFound ? `GET /v1/${index}/end` : [])),
  )
  const enforcing = await appWith('enforce')
  await t.rejects(async () => enforcing.ready().then(undefined, rethrowUnwrapped), {
    code: 'FST_CONV_FINDINGS',
    message: /^6 breaches.*GET \/v1\/0\/end, GET \/v1\/1\/end, GET \/v1\/3\/end +caching\.private/s,
  })
  const ofPlugin = await appWith('enforce', shared)
  await t.rejects(async () => ofPlugin.ready().then(undefined, rethrowUnwrapped), {
    message: /GET \/v1\/9\/end +caching\.private/,
  })
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

t.test('mode off: the helpers still exist, and nothing else happens', async (t) => {
  const app = Fastify()
  await app.register(caching, { mode: 'off' })
  app.get('/v1/users', (_, reply) => reply.caching({ etag: 'own', vary: 'accept' }).send({}))
  const { headers } = await app.inject({ url: '/v1/users', headers: { 'if-none-match': '"own"' } })
  t.match(headers, { etag: '"own"', vary: 'accept' })
  t.notOk('cache-control' in headers)
  t.notOk('cache-control' in (await app.inject('/v1/nowhere')).headers)
})
