/** Exceptions of the preset: routes that the team cannot change keep what they send, whatever the convention. */
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionName, type ConventionsOptions } from '../../src/index.js'
import { testIssuer } from '../../src/testing/index.js'

const reason = 'of another team'

type Row = readonly ['GET' | 'HEAD' | 'POST', url: string, headers?: Readonly<Record<string, string>>]

/** Checks that an app answers requests as one without the preset does, apart from the date. */
async function isAsPlain(t: Test, app: FastifyInstance, plain: FastifyInstance, rows: readonly Row[]) {
  for (const [method, url, headers = {}] of rows) {
    const [one, other] = await Promise.all([plain, app].map((to) => to.inject({ method, url, headers })))
    const parts = [one, other].map((answer) => {
      const { date: _, ...fields } = answer?.headers ?? {}
      return [answer?.statusCode, answer?.body, fields]
    })
    t.strictSame(parts[1], parts[0], `${method} ${url} ${JSON.stringify(headers)}`)
  }
}

t.test('an excepted route boots and answers as without the preset', async (t) => {
  const app = Fastify()
  await app.register(conventions, { exceptions: ['/Legacy/*', '/v1/stray'].map((url) => ({ url, reason })) })
  withRoutes(app)
  app.get('/v1/users', async () => ({ users: [] }))
  await app.ready()
  await isAsPlain(t, app, withRoutes(Fastify()), [
    ['GET', '/Legacy/getUser/AbC', { origin: 'https://other.example' }],
    ['GET', '/Legacy/getUser/AbC?fields=nope', { accept: 'text/plain' }],
    ['HEAD', '/Legacy/getUser/AbC'],
    ['GET', '/Legacy/failing'],
    ['POST', '/Legacy/list', { 'idempotency-key': 'k' }],
    ['GET', '/v1/stray'],
  ])
  t.match(await app.inject('/v1/users'), { headers: { etag: /./, 'x-content-type-options': 'nosniff' } })
  const { exceptions, findings } = app.conventions.report()
  t.strictSame(findings, [])
  const ofPreset = exceptions.filter(({ plugin }) => plugin === 'conventions')
  const routes = ['GET /Legacy/getUser/:id', 'GET /Legacy/failing', 'POST /Legacy/list', 'GET /v1/stray']
  t.strictSame(
    ofPreset.map((one) => [one.route, one.reason]),
    routes.map((route) => [route, reason]),
  )
  const others = exceptions.filter((one) => / is false/.test(one.reason))
  t.strictSame(others, [], 'the reason is that of the exception')
})

t.test('except names the conventions that do not hold, also if the route has options for one', async (t) => {
  const app = Fastify()
  const except: readonly ConventionName[] = ['pathGuard', 'responseRules']
  const own = [reason, 'another'].map((one) => ({ url: '/getUser/:id', reason: one, except }))
  await app.register(conventions, { exceptions: own })
  const config = { pathGuard: { rules: { plural: 'enforce' } } } as const
  const before = structuredClone(config)
  app.get('/getUser/:id', { config }, async () => ({ userName: 'Ada' }))
  const response = await app.inject('/getUser/AbC')
  t.strictSame(response.json(), { userName: 'Ada' })
  t.match(response.headers, { etag: /./, 'x-content-type-options': 'nosniff' }, 'the others hold')
  t.strictSame(config, before, 'the config of the app is unchanged')
  const ofGuard = app.conventions.report().exceptions.filter(({ plugin }) => plugin === 'pathGuard')
  t.strictSame([ofGuard.length, ofGuard[0]?.reason], [1, reason], 'the first exception gives the reason')
})

t.test('an exception that matches no route is a finding; an invalid one is an error', async (t) => {
  const exceptions = [{ url: '/v1/usres', reason }]
  await t.rejects(booted({ exceptions }), {
    code: 'FST_CONV_FINDINGS',
    message: /\/v1\/usres +conventions\.exceptions/,
  })
  const refused = (exception: object, message: RegExp) =>
    t.rejects(booted({ exceptions: [{ url: '/x', ...exception } as never] }), { message })
  await refused({}, /conventions\.exceptions\[0\]\.reason: expected a non-empty string/)
  await refused({ reason, except: ['methodOverride'] }, /except\[0\]: expected one of 'problems'/)
})

t.test('an excepted route needs no token and no TLS, and is sent as JSON', async (t) => {
  const app = Fastify({ trustProxy: true })
  await app.register(conventions, {
    bearer: (await testIssuer()).options,
    xsrf: { cookies: ['sid'], secret: 'a secret of at least thirty-two characters', requestedWith: true },
    httpsOnly: {},
    formats: {},
    exceptions: ['/Legacy/*', '/v1/stray'].map((url) => ({ url, reason })),
  })
  const plain = Fastify()
  const items = { type: 'object', properties: { id: {} } }
  const rows = { type: 'object', properties: { rows: { type: 'array', items } } }
  for (const one of [app, plain]) {
    const own: object = { config: { formats: ['json', 'csv'] }, schema: { response: { 200: rows } } }
    withRoutes(one).get('/Legacy/rows', own, async () => ({ rows: [{ id: 1 }] }))
  }
  app.get('/v1/users', async () => ({ users: [] }))
  const headers = { cookie: 'sid=1', origin: 'https://other.example', accept: 'text/csv' }
  await isAsPlain(t, app, plain, [
    ['GET', '/Legacy/getUser/AbC', headers],
    ['GET', '/Legacy/rows?format=csv', headers],
    ['POST', '/Legacy/list', headers],
  ])
  t.match(await app.inject('/v1/users'), { statusCode: 403 }, 'another one needs TLS')
})

t.test('basePath is for all plugins, unless one has its own; the prefix of a context is one', async (t) => {
  const versions = { versions: { 1: { deprecated: '2026-01-01' } } }
  const jobs = { path: '/api/v2/jobs' }
  const ofVersions = { basePath: '/app', versions: { ...versions, basePath: '/api' } }
  for (const [prefix, options, path, deprecation, operation] of [
    ['', { basePath: '/api', versions }, '/api/v1/users', /^@/, '/api/v1/operations/:id'],
    ['', { basePath: '/api', operations: jobs }, '/api/v1/users', /^$/, '/api/v2/jobs/:id'],
    ['', ofVersions, '/app/v1/users', /^$/, '/app/v1/operations/:id'],
    ['/api', { versions }, '/v1/users', /^@/, '/api/v1/operations/:id'],
  ] as const) {
    const app = Fastify()
    const inContext = async (api: FastifyInstance) => {
      await api.register(conventions, options)
      api.operations.define('import', async () => {})
      api.get(path, async () => ({ users: [] }))
    }
    if (prefix === '') await inContext(app)
    else app.register(inContext, { prefix })
    await app.ready()
    t.match((await app.inject(prefix + path)).headers.deprecation ?? '', deprecation, `${prefix} ${path}`)
    t.equal(app.hasRoute({ method: 'GET', url: operation }), true, operation)
    t.equal(app.hasRoute({ method: 'GET', url: '/v1/operations/:id' }), false)
  }
})

function withRoutes(app: FastifyInstance): FastifyInstance {
  app.get('/Legacy/getUser/:id', async () => ({ userName: 'Ada', big: 9_007_199_254_740_992 }))
  app.get('/Legacy/failing', async () => {
    throw Object.assign(new Error('gone'), { statusCode: 410 })
  })
  app.post('/Legacy/list', async () => [{ id: 1 }])
  app.get('/v1/stray', async () => [])
  return app
}

async function booted(options: ConventionsOptions): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(conventions, options)
  app.get('/v1/users', async () => ({ users: [] }))
  return app.ready().then(() => app)
}
