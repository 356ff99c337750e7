/** Versions that are deprecated and retired: RFC 9745, RFC 8594. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { caching, lists, problems, serverOptions } from '../../../src/index.js'
import { type VersionsOptions, versions } from '../../../src/plugins/versions/index.js'
import { withoutReferences } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'

const deprecation = '@1767225600'
const sunset = 'Fri, 01 Jan 2027 00:00:00 GMT'
const link =
  '<https://example.com/v1>; rel="deprecation", </ends>; rel="sunset", </v2>; rel="successor-version"'
const lifecycle = {
  deprecated: '2026-01-01',
  sunset: new Date('2027-01-01T00:00:00.900Z'),
  link: { deprecation: 'https://example.com/v1', sunset: '/ends', successor: '/v2' },
}
const before = Date.parse('2026-12-31T23:59:59.999Z')
const after = Date.parse('2027-01-01T00:00:00.000Z')

async function appWith(add: (app: FastifyInstance) => void, options: VersionsOptions = {}) {
  const app = Fastify(serverOptions())
  await app.register(problems)
  await app.register(versions, { versions: { 1: lifecycle, 2: {} }, now: () => before, ...options })
  add(app)
  return app
}

/** The headers of a response that announce the end of its version. */
const told = ({ headers: { deprecation, sunset, link } }: { headers: Record<string, unknown> }) => {
  return { deprecation, sunset, link }
}

const all = { deprecation, sunset, link }
const none = { deprecation: undefined, sunset: undefined, link: undefined }

t.test('a deprecated version has its headers on errors and unknown paths, too', async (t) => {
  const app = await appWith((app) => {
    app.get('/v1/users/:id', async () => ({ id: 1 }))
    app.get('/v1/broken', async () => {
      throw new Error('no')
    })
    const body = { type: 'object', required: ['name'] }
    app.post('/v1/users', { schema: { body } }, async () => ({}))
    app.get('/v1/pages/*', async () => 'a page')
    app.get('/:version/any', async () => ({}))
    app.get('/v2/users/:id', async () => ({ id: 1 }))
    app.get('/health', async () => ({}))
  })
  for (const [method, url, status, expected] of [
    ['HEAD', '/v1/users/1', 200, all],
    ['GET', '/v1/broken', 500, all],
    ['POST', '/v1/users', 400, all],
    ['GET', '/v1/pages/a', 200, all],
    ['GET', '/v1/any', 200, all],
    ['GET', '/v1/unknown?x=1', 404, all],
    ['DELETE', '/v1/users/1', 405, all],
    ['GET', '/v1/%zz', 400, all],
    ['GET', `/v1/users/${'a'.repeat(101)}`, 414, all],
    ['GET', '/v2/any', 200, none],
    ['GET', '/v2/unknown', 404, none],
    ['GET', '/health', 200, none],
  ] as const) {
    const answer = await app.inject({ method, url, ...(method === 'POST' ? { payload: {} } : {}) })
    t.strictSame([answer.statusCode, told(answer)], [status, expected], `${method} ${url}`)
  }
})

t.test('after the sunset every path of the version is a 410, and no later hook runs', async (t) => {
  let time = before
  const ran: string[] = []
  const app = await appWith(
    (app) => {
      app.addHook('onRequest', async () => void ran.push('authentication'))
      app.get('/v1/users/:id', async () => ({ ran: ran.push('handler') }))
      app.get('/v1/kept', { config: { versions: false } }, async () => ({}))
      app.get('/v2/users/:id', async () => ({}))
      app.get('/*', async () => ({}))
    },
    { now: () => time },
  )
  t.equal((await app.inject('/v1/users/1')).statusCode, 200, 'a millisecond before')
  time = after
  ran.length = 0
  const ofUser = (['GET', 'HEAD', 'PUT', 'OPTIONS'] as const).map(
    (method) => [method, '/v1/users/1'] as const,
  )
  for (const [method, url] of [...ofUser, ['GET', '/v1/gone-long-ago'] as const]) {
    const answer = await app.inject({ method, url })
    t.strictSame([answer.statusCode, told(answer)], [410, all], 'the links stay')
    const detail = `Version 1 ended on ${sunset}; its successor is /v2`
    if (method !== 'HEAD') isProblem(t, injected(answer), { status: 410, code: 'version-retired', detail })
  }
  t.strictSame(ran, [], 'no handler, no authentication')
  t.equal((await app.inject('/v1/kept')).statusCode, 200, 'a route with `config.versions: false`')
  const { exceptions } = app.conventions.report()
  t.match(exceptions, [{ route: 'GET /v1/kept', reason: 'config.versions is false' }])
  t.equal(exceptions.filter(({ route }) => route !== 'GET /*').length, 1, 'and the report says so, once')
  t.equal((await app.inject('/v2/users/1')).statusCode, 200)
  t.equal((await app.inject('/v2/unknown')).statusCode, 200)
})

t.test('a route may have its own sunset: before, after, or without that of its version', async (t) => {
  const app = await appWith((app) => {
    const ended = { versions: { sunset: '2026-06-01T00:00:00Z' } }
    app.get('/v1/early', { config: ended }, async () => ({}))
    app.get('/v1/other', { config: { versions: { link: { successor: '/v2/others' } } } }, async () => ({}))
    app.get('/v2/old', { config: { versions: { deprecated: '2027-06-01' } } }, async () => ({}))
    app.get('/legacy', { config: ended }, async () => ({}))
    app.get('/old', { config: { versions: { deprecated: '2026-01-01' } } }, async () => ({}))
    app.get('/moved', { config: { versions: { link: { successor: '/v2' } } } }, async () => ({}))
  })
  t.strictSame(told(await app.inject('/old')), { ...none, deprecation })
  t.strictSame(told(await app.inject('/moved')), { ...none, link: '</v2>; rel="successor-version"' })
  const early = await app.inject('/v1/early')
  t.equal(early.statusCode, 410)
  t.match(told(early), { deprecation, sunset: 'Mon, 01 Jun 2026 00:00:00 GMT', link })
  t.equal((await app.inject('/v1/unknown')).statusCode, 404, 'its version goes on')
  t.equal(told(await app.inject('/v1/other')).link, link.replace('/v2', '/v2/others'))
  t.strictSame(told(await app.inject('/v2/old')), { ...none, deprecation: '@1811808000' }, 'yet to come')
  const legacy = await app.inject('/legacy')
  t.match(isProblem(t, injected(legacy), { status: 410, code: 'version-retired' }).detail, /^It ended on/)
})

t.test('a Link of a handler, a list or a web Response is kept, and not repeated', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(versions, { versions: { 1: lifecycle }, now: () => before })
  await app.register(lists)
  await app.register(caching)
  app.get('/v1/users', { config: { lists: {} } }, async (_request, reply) =>
    reply.list([{ id: 3 }, { id: 2 }]),
  )
  app.get('/v1/own', async (_request, reply) =>
    reply.header('link', ['</a>; rel="a"', '</b>; rel="b"']).send({}),
  )
  const headers = { link: '</a>; rel="a"', 'x-own': '1' }
  app.get('/v1/web', () => new Response('x', { status: 203, headers }))
  const failLate = async (_request: unknown, { statusCode }: FastifyReply) => {
    if (statusCode === 200) throw new Error('late')
  }
  app.get('/v1/late', { onSend: failLate }, async () => ({}))
  const addLink = async (_request: unknown, reply: FastifyReply) => void reply.header('link', '</c>; rel="c"')
  app.get('/v1/hooked', { onSend: addLink }, async () => ({}))
  app.get('/v1/says-itself', async (_request, reply) =>
    reply.header('deprecation', '@1').header('sunset', 'never').send({}),
  )
  for (const [path, own] of [
    ['users?limit=1', '</v1/users?limit=1&before_id=3>; rel="next"'],
    ['own', '</a>; rel="a", </b>; rel="b"'],
    ['hooked', '</c>; rel="c"'],
  ])
    t.equal((await app.inject(`/v1/${path}`)).headers.link, `${own}, ${link}`)
  const web = await app.inject('/v1/web')
  t.match(web.headers, { link: `</a>; rel="a", ${link}`, 'x-own': '1', deprecation, sunset })
  t.match([web.statusCode, web.body], [203, 'x'])
  const late = await app.inject('/v1/late')
  t.strictSame([late.statusCode, told(late)], [500, all], 'finished twice, told once')
  t.strictSame(told(await app.inject('/v1/says-itself')), { deprecation: '@1', sunset: 'never', link })
  const { etag = '' } = (await app.inject('/v1/own')).headers
  const unchanged = await app.inject({ url: '/v1/own', headers: { 'if-none-match': String(etag) } })
  t.equal(unchanged.statusCode, 304)
  t.match(told(unchanged), { deprecation, sunset }, 'a 304 too')
})

t.test('all forms of a date, in whole seconds', async (t) => {
  const [day, date] = ['2027-01-31', 'Sun, 31 Jan 2027 00:00:00 GMT']
  for (const [given, expected] of [
    // The examples of RFC 9745 §2.1 and RFC 8594 §3.
    [{ deprecated: '2023-06-30T23:59:59.999Z' }, { deprecation: '@1688169599' }],
    [{ sunset: '2018-12-31T23:59:59Z' }, { sunset: 'Mon, 31 Dec 2018 23:59:59 GMT' }],
    [
      { sunset: day, deprecated: day },
      { deprecation: '@1801353600', sunset: date },
    ],
    [{ deprecated: `${day}T01:00:00+01:00` }, { deprecation: '@1801353600' }],
    [{ deprecated: new Date(0) }, { deprecation: '@0' }],
    [{ link: { sunset: '/s' } }, { link: '</s>; rel="sunset"' }],
  ] as const) {
    const app = await appWith(() => {}, { versions: { 1: given } })
    t.strictSame(told(await app.inject('/v1/users')), { ...none, ...expected }, JSON.stringify(given))
  }
})

t.test('the version of a path is its first segment, or the one after a base path', async (t) => {
  const some = { 0: lifecycle, 1: lifecycle, 12: lifecycle }
  for (const [options, announced, others] of [
    [{ versions: some }, '/v1 /v12/users?x=/v3 /v1?x=1 /v0/', '/v01 /V1 /v1a /v1.1 /users/v1 /'],
    [{ basePath: '/a.p' }, '/a.p/v1/users /a.p/v1/unknown', '/axp/v1/unknown /v1/unknown'],
  ] as const) {
    const app = await appWith((app) => app.get('/a.p/v1/users', async () => ({})), options)
    for (const path of announced.split(' ')) t.strictSame(told(await app.inject(path)), all, path)
    for (const path of others.split(' ')) t.strictSame(told(await app.inject(path)), none, path)
  }
})

t.test('in report mode no byte changes, and requests that would change are counted', async (t) => {
  const app = await appWith(
    (app) => {
      app.get('/v1/users', async () => ({}))
      app.get('/v1/says-itself', async (_request, reply) => reply.headers(all).send({}))
    },
    { mode: 'report', now: () => after },
  )
  await app.inject('/v1/says-itself')
  for (const [url, status] of Object.entries({ '/v1/users': 200, '/v1/unknown': 404 })) {
    const answer = await app.inject(url)
    t.strictSame([answer.statusCode, told(answer)], [status, none])
  }
  const observed = app.conventions.report().observations.map(({ rule, route, count }) => [rule, route, count])
  t.strictSame(observed, [
    ['retired', 'GET /v1/says-itself', 1],
    ['headers', 'GET /v1/users', 1],
    ['retired', 'GET /v1/users', 1],
    ['headers', '*', 1],
    ['retired', '*', 1],
  ])
})

t.test('a route may have its own modes, and each rule can be off', async (t) => {
  const app = await appWith(
    (app) => {
      const config = (rules: VersionsOptions['rules'] & object) => ({ config: { versions: { rules } } })
      app.get('/v1/served', config({ retired: 'off' }), async () => ({}))
      app.get('/v1/counted', config({ retired: 'report' }), async () => ({}))
      app.get('/v1/quiet', config({ headers: 'off' }), async () => ({}))
      app.get('/v1/silent', config({ retired: 'off', headers: 'off' }), async () => ({}))
      app.get('/v1/users', async () => ({}))
    },
    { now: () => after },
  )
  for (const [path, status, expected] of [
    ['served', 200, all],
    ['counted', 200, all],
    ['quiet', 410, none],
    ['silent', 200, none],
    ['users', 410, all],
  ] as const) {
    const answer = await app.inject(`/v1/${path}`)
    t.strictSame([answer.statusCode, told(answer)], [status, expected], path)
  }
  const observed = app.conventions.report().observations.map(({ rule, route }) => `${rule} ${route}`)
  t.strictSame(observed, ['retired GET /v1/counted'])
})

t.test('a route of an unlisted version fails the boot, unless it is that of a proxy', async (t) => {
  const app = await appWith((app) => app.get('/v3/users', async () => ({})))
  const message = /GET \/v3\/users +versions\.listed .*\/v1, \/v2/
  await t.rejects(async () => await app.ready(), { code: 'FST_CONV_FINDINGS', message })
  const proxy = await appWith((app) => app.get('/v3/files/*', async () => ({})))
  await t.resolves(async () => void (await proxy.ready()))
})

t.test('invalid dates and names are refused at registration', async (t) => {
  const rows: readonly (readonly [options: unknown, message: RegExp])[] = [
    [{ versions: { 1: { deprecated: '2026-02-30' } } }, /versions\.versions\.1\.deprecated: expected a Date/],
    [{ versions: { 1: { deprecated: 'Fri, 01 Jan 2027 00:00:00 GMT' } } }, /RFC 3339/],
    [{ versions: { 1: { sunset: new Date(Number.NaN) } } }, /1\.sunset/],
    [{ versions: { 1: { sunset: '2027-01-31T00:00:00' } } }, /1\.sunset/],
    [{ versions: { 1000000000: {} } }, /major version/],
    [{ versions: { 1: { deprecated: '2027-01-02', sunset: '2027-01-01' } } }, /1\.sunset: .*RFC 9745 §4/],
    [{ versions: { 1: { link: { successor: '/v1>; rel="x", </v2' } } } }, /link\.successor/],
    [{ versions: { 1: { ends: '2027-01-01' } } }, /versions\.versions\.1\.ends/],
    [{ versions: { v1: {} } }, /versions\.versions\.v1: expected a major version/],
    [{ versions: { '01': {} } }, /major version/],
  ]
  for (const [options, message] of rows) {
    await t.rejects(async () => Fastify().register(versions, options as VersionsOptions), { message })
  }
  const app = await appWith(() => {})
  const config = { versions: { deprecated: '2028-01-01' } }
  const message = /GET \/v1\/users config\.versions\.sunset: expected not before deprecated/
  t.throws(() => app.get('/v1/users', { config }, async () => ({})), { message })
})

/** The operations of the OpenAPI document, by their paths. */
async function operationsOf(options: VersionsOptions, add: (app: FastifyInstance) => void) {
  const app = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(versions, { now: () => Date.parse('2026-11-20'), ...options })
  await app.register(caching)
  add(app)
  await app.ready()
  const { paths } = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))
  return (path: string) => paths[path].get
}

const schema = { response: { 200: { type: 'object', properties: { id: { type: 'integer' } } } } }

t.test('a deprecated version is deprecated in the document, with its period', async (t) => {
  const lifecycle = { deprecated: '2026-01-01', sunset: '2027-01-01', link: { successor: '/v2' } }
  const operationOf = await operationsOf({ versions: { 1: lifecycle, 2: {} } }, (app) => {
    app.get('/v1/users', { schema: { ...schema, description: 'All users.' } }, () => ({}))
    app.get('/v1/bare', () => ({}))
    app.get('/v2/users', { schema }, () => ({}))
    app.get('/v1/kept', { schema, config: { versions: false } }, () => ({}))
  })
  const users = operationOf('/v1/users')
  const [since, from] = ['2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z']
  const period = `Deprecated since ${since}, answered with 410 from ${from} on. Its successor: /v2`
  const description = `All users.\n\n${period}`
  t.match(users, { deprecated: true, 'x-deprecation': since, 'x-sunset': from, description })
  t.strictSame(Object.keys(users.responses).sort(), ['200', '304', '410', '412'])
  t.match(users.responses['200'].headers, { Deprecation: {}, Sunset: {}, ETag: {} })
  t.equal(operationOf('/v1/bare').deprecated, true, 'a route without a schema')
  for (const path of ['/v2/users', '/v1/kept']) {
    t.notOk('deprecated' in operationOf(path) || 'x-sunset' in operationOf(path), path)
    t.notOk('410' in operationOf(path).responses, path)
  }
})

t.test('the document has what there is: a deprecation, now or later, a sunset, a link', async (t) => {
  const [now, future] = ['2026-11-20T00:00:00.000Z', '2027-01-01T00:00:00.000Z']
  const since = { deprecated: true, 'x-deprecation': now, description: `Deprecated since ${now}.` }
  const later = { 'x-deprecation': future, description: `Deprecated from ${future}.` }
  const ended = { 'x-sunset': future, description: `Answered with 410 from ${future} on.` }
  for (const [lifecycle, expected, header, mode = 'enforce'] of [
    [{ deprecated: future }, later, 'Deprecation'],
    [{ deprecated: now }, since, 'Deprecation'],
    [{ sunset: future }, ended, 'Sunset'],
    [{ link: { successor: '/v2' } }, {}, 'Link'],
    [{ deprecated: now }, {}, '', 'report'],
  ] as const) {
    const add = (app: FastifyInstance) => app.get('/v1/users', { schema }, () => ({}))
    const operationOf = await operationsOf({ mode, versions: { 1: lifecycle } }, add)
    const { responses, parameters: _, ...operation } = operationOf('/v1/users')
    t.strictSame(operation, expected)
    const { headers } = responses['200']
    const announced = Object.keys(headers).filter((name) => /^(Deprecation|Sunset|Link)$/.test(name))
    t.equal(announced.join(), header)
    if (header !== '') t.equal(headers[header].schema.type, 'string')
    t.equal('410' in responses, header === 'Sunset')
  }
})
