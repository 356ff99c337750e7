/** Options of the plugin and of routes: checked at boot, the nearest word counts, and the OpenAPI document shows them. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { type CachingRouteOptions, caching, fields, responseRules } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { documentOf } from '../../support/openapi.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

t.test('invalid options are refused at registration, by their name', async (t) => {
  const wrong: readonly (readonly [options: object, message: RegExp])[] = [
    [{ cacheControl: true }, /caching\.cacheControl.*directives or false/],
    [{ cacheControl: { maxage: 5 } }, /caching\.cacheControl\.maxage: there is no such option/],
    [{ cacheControl: { public: true, private: true } }, /caching\.cacheControl.*private forbids/],
    [{ etag: 'weak' }, /caching\.etag.*true, false/],
    [{ lastModified: '' }, /caching\.lastModified/],
    [{ isAuthenticated: true }, /caching\.isAuthenticated.*a function/],
    [{ now: 5 }, /caching\.now.*a function/],
    [{ rules: { expires: 'off' } }, /caching\.rules\.expires/],
    [{ maxAge: 5 }, /caching\.maxAge.*cacheControl/],
    [{ validators: () => null }, /caching\.validators: there is no such option/],
  ]
  for (const [options, message] of wrong)
    await t.rejects(async () => Fastify().register(caching, options), { message }, JSON.stringify(options))
})

t.test('invalid options of a route are refused when it is added', async (t) => {
  const app = await appOf(caching)
  const soon = Date.now() + 60_000
  const wrong: readonly (readonly [config: unknown, name: string])[] = [
    [true, ''],
    [{ cacheControl: [] }, '.cacheControl'],
    [{ cacheControl: { immutable: true, noCache: true } }, '.cacheControl: expected directives without'],
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
    [{ now: Date.now }, '.now'],
  ]
  for (const [config, name] of wrong) {
    const add = () => app.get('/v1/users', { config: { caching: config as CachingRouteOptions } }, () => ({}))
    t.throws(add, { message: `GET /v1/users config.caching${name}` }, JSON.stringify(config))
  }
})

t.test('a hidden field that a header would show is a finding at boot', async (t) => {
  const when = () => true
  const shared = { cacheControl: { public: true, maxAge: 60 } }
  const confidential = { cacheControl: { noStore: true } }
  const seen = { lastModified: 'seen_at' }
  const excepted = { except: ['private'] as const, reason: 'the date is public', mode: 'enforce' as const }
  type Hidden = Record<string, true | (() => boolean)>
  const rows: readonly (readonly [isFound: boolean, Hidden, own: CachingRouteOptions | false])[] = [
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
  const appWith = async (mode: 'enforce' | 'report', options = {}) => {
    const app = await appOf(fields, [caching, { rules: { private: mode }, ...options }])
    for (const [index, [, hidden, own]] of rows.entries())
      app.get(`/v1/${index}/end`, { schema, config: { fields: { hidden }, caching: own } }, () => ({ id: 1 }))
    // The response to a write has no date.
    app.put('/v1/users', { schema, config: { fields: { hidden: { updated_at: true } } } }, () => ({ id: 1 }))
    return app
  }
  const reporting = await appWith('report')
  await reporting.ready()
  const found = reporting.conventions.report().findings.filter(({ rule }) => rule === 'private')
  const expected = rows.flatMap(([isFound], index) => (isFound ? `GET /v1/${index}/end` : []))
  t.strictSame(found.map(({ route }) => route).join(), expected.join())
  for (const [options, message] of [
    [{}, /^6 breaches.*GET \/v1\/0\/end, GET \/v1\/1\/end, GET \/v1\/3\/end +caching\.private/s],
    [shared, /GET \/v1\/9\/end +caching\.private/],
  ] as const) {
    const app = await appWith('enforce', options)
    await t.rejects(async () => app.ready().then(undefined, rethrowUnwrapped), { message })
  }
})

t.test('in camelCase the date is that of updatedAt, unless lastModified is set', async (t) => {
  const answer = { updatedAt: '2026-11-19T08:00:00Z', updated_at: '2026-11-18T08:00:00Z' }
  const app = await appOf([responseRules, { keyStyle: 'camelCase', rules: { keys: 'off' } }], caching)
  app.get('/v1/users', () => answer)
  app.get('/v1/own', { config: { caching: { lastModified: 'updated_at' } } }, () => answer)
  app.get('/v1/none', { config: { caching: { lastModified: false } } }, () => answer)
  const days = { users: 'Thu, 19 Nov 2026', own: 'Wed, 18 Nov 2026', none: 'undefined' }
  for (const [path, day] of Object.entries(days))
    t.match(`${(await app.inject(`/v1/${path}`)).headers['last-modified']}`, day)
})

async function documentedRoutes(own: CachingRouteOptions) {
  const app = await appOf([swagger, { openapi: {} }], caching)
  const schema = { response: { 200: { type: 'object', properties: { id: { type: 'integer' } } } } }
  const route = { schema, config: { caching: own }, handler: () => ({}) }
  for (const method of ['GET', 'PUT', ['GET', 'POST']])
    app.route({ ...route, method, url: `/v1/${[method].flat().join('')}` })
  const { paths } = await documentOf(app)
  return (path: string, method: 'get' | 'put' | 'post') => {
    const { responses = {}, parameters = [] } = paths?.[`/v1/${path}`]?.[method] ?? {}
    const headersOf = (status: string) => Object.keys(responses[status]?.headers ?? {}).sort()
    const names = parameters.map((parameter) => (parameter as { name: string }).name).sort()
    return { responses, statuses: Object.keys(responses).sort(), headersOf, names }
  }
}

const validators = () => ({ version: 7 })

t.test('a read shows its headers, 304 and 412, and the conditions that it takes', async (t) => {
  const [all, tag, date] = ['Cache-Control', 'ETag', 'Last-Modified']
  const reading = ['If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Unmodified-Since']
  for (const [own, ok, notModified] of [
    [{}, [all, tag, date], [all, tag, 'Vary']],
    [{ etag: false }, [all, date], [all, date, 'Vary']],
    [{ vary: ['accept-language'] }, [all, tag, date, 'Vary'], [all, tag, 'Vary']],
    [{ expires: Date.now() + 60_000 }, [all, tag, 'Expires', date], [all, tag, 'Vary']],
    [{ etag: false, validators, preconditions: 'required' }, [all, tag, date], [all, tag, 'Vary']],
  ] as const) {
    const { statuses, headersOf, names, responses } = (await documentedRoutes(own))('GET', 'get')
    t.strictSame([statuses, names], [['200', '304', '412'], reading])
    t.strictSame([headersOf('200'), headersOf('304')], [ok, notModified])
    t.match(responses, { 304: { description: /Not modified/ }, 412: { description: /precondition/ } })
    t.notOk('content' in (responses['304'] ?? {}), 'a 304 has no content')
  }
})

t.test('a write with validators shows 412, and 428 if preconditions are required', async (t) => {
  const required = { validators, preconditions: 'required' } as const
  const writing = ['If-Match', 'If-None-Match', 'If-Unmodified-Since']
  const tagged = ['Cache-Control', 'ETag', 'Last-Modified']
  for (const [own, statuses, headers, parameters] of [
    [{ validators, vary: ['accept'] }, ['200', '412'], ['Cache-Control'], writing],
    [required, ['200', '412', '428'], ['Cache-Control'], writing],
    [{}, ['200'], ['Cache-Control'], []],
    [{ validatorsOf: validators }, ['200'], tagged, []],
  ] as const) {
    const shown = (await documentedRoutes(own))('PUT', 'put')
    t.strictSame([shown.statuses, shown.headersOf('200'), shown.names], [statuses, headers, parameters])
  }
  const shown = await documentedRoutes(required)
  for (const method of ['get', 'post'] as const)
    t.strictSame(shown('GETPOST', method).statuses, ['200', '304', '412', '428'])
})
