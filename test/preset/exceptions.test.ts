/** Exceptions of the preset: routes that the team cannot change keep what they send, whatever the convention. */
import { generateKeyPairSync } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, { type ConventionName, type ConventionsOptions } from '../../src/index.js'

const reason = 'of another team'

t.test('an excepted route boots and answers as without the preset', async (t) => {
  const plain = withRoutes(Fastify())
  const app = Fastify()
  await app.register(conventions, {
    exceptions: [
      { url: '/Legacy/*', reason },
      { url: '/v1/stray', reason },
    ],
  })
  withRoutes(app)
  app.get('/v1/users', async () => ({ users: [] }))
  await app.ready()

  for (const [method, url, headers] of [
    ['GET', '/Legacy/getUser/AbC', {}],
    ['GET', '/Legacy/getUser/AbC', { origin: 'https://other.example' }],
    ['GET', '/Legacy/getUser/AbC?fields=nope', { accept: 'text/plain' }],
    ['HEAD', '/Legacy/getUser/AbC', {}],
    ['GET', '/Legacy/failing', {}],
    ['POST', '/Legacy/list', { 'idempotency-key': 'k' }],
    ['GET', '/v1/stray', {}],
  ] as const) {
    const [one, other] = [
      await plain.inject({ method, url, headers }),
      await app.inject({ method, url, headers }),
    ]
    const about = `${method} ${url} ${JSON.stringify(headers)}`
    t.equal(other.statusCode, one.statusCode, about)
    t.equal(other.body, one.body, about)
    t.strictSame(changed(one.headers, other.headers), {}, about)
  }
  t.match(await app.inject('/v1/users'), { headers: { etag: /./, 'x-content-type-options': 'nosniff' } })
  const { exceptions, findings } = app.conventions.report()
  t.strictSame(findings, [])
  const ofPreset = exceptions.filter(({ plugin }) => plugin === 'conventions')
  t.strictSame(
    ofPreset.map(({ route }) => route),
    ['GET /Legacy/getUser/:id', 'GET /Legacy/failing', 'POST /Legacy/list', 'GET /v1/stray'],
  )
  t.ok(ofPreset.every((exception) => exception.reason === reason && !exception.unused))
  t.notOk(
    exceptions.some(({ reason }) => / is false/.test(reason)),
    'the reason is that of the exception',
  )
})

t.test('except names the conventions that do not hold; the others do', async (t) => {
  const app = Fastify()
  const except: readonly ConventionName[] = ['pathGuard', 'responseRules']
  await app.register(conventions, { exceptions: [{ url: '/getUser/:id', reason, except }] })
  app.get('/getUser/:id', async () => ({ userName: 'Ada' }))
  await app.ready()

  const response = await app.inject('/getUser/AbC')
  t.strictSame(response.json(), { userName: 'Ada' })
  t.match(response.headers, { etag: /./, 'x-content-type-options': 'nosniff' })
})

t.test(
  'the route may have options of its own for the convention: the exception has precedence',
  async (t) => {
    const app = Fastify()
    const exceptions = [{ url: '/v1/user', reason, except: ['pathGuard'] }] as const
    await app.register(conventions, { exceptions })
    const config = { pathGuard: { rules: { plural: 'enforce' } } } as const
    app.get('/v1/user', { config }, async () => ({}))
    app.get('/v1/users', { config }, async () => ({}))
    await t.resolves(async () => app.ready())
    t.strictSame(
      config,
      { pathGuard: { rules: { plural: 'enforce' } } },
      'the config of the app is unchanged',
    )
  },
)

t.test('an exception that matches no route is a finding', async (t) => {
  const exceptions = [{ url: '/v1/usres', reason }]
  await t.rejects(booted({ exceptions }), {
    code: 'FST_CONV_FINDINGS',
    message: /\/v1\/usres +conventions\.exceptions/,
  })
  const app = await booted({ mode: 'report', exceptions })
  t.match(app.conventions.report().findings, [
    { plugin: 'conventions', rule: 'exceptions', route: '/v1/usres' },
  ])
  t.strictSame(
    (await booted({ exceptions: [{ url: '/v1/users', reason }] })).conventions.report().findings,
    [],
  )
})

t.test('invalid exceptions', async (t) => {
  for (const [exceptions, message] of [
    [[{ url: '/x' }], /conventions\.exceptions\[0\]\.reason: expected a non-empty string/],
    [[{ url: 'x', reason }], /conventions\.exceptions\[0\]\.url: expected a path such as/],
    [[{ url: '/x', reason, except: ['paths'] }], /exceptions\[0\]\.except\[0\]: expected one of 'problems'/],
    [[{ url: '/x', reason, except: ['methodOverride'] }], /except\[0\]: expected one of 'problems'/],
    [{}, /conventions\.exceptions: expected an array/],
  ] as const) {
    await t.rejects(booted({ exceptions } as unknown as ConventionsOptions), { message })
  }
})

t.test('an excepted route needs no token and no TLS, and is sent as JSON', async (t) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const app = Fastify({ trustProxy: true })
  await app.register(conventions, {
    bearer: {
      issuer: 'https://issuer.example',
      audience: 'https://api.example',
      jwks: { keys: [publicKey.export({ format: 'jwk' })] },
    },
    xsrf: { cookies: ['sid'], secret: 'a secret of at least thirty-two characters', requestedWith: true },
    httpsOnly: {},
    formats: {},
    exceptions: ['/Legacy/*', '/v1/stray'].map((url) => ({ url, reason })),
  } as ConventionsOptions)
  withRoutes(app)
  app.get('/v1/users', async () => ({ users: [] }))
  const plain = withRoutes(Fastify())
  const rows = {
    type: 'object',
    properties: { rows: { type: 'array', items: { type: 'object', properties: { id: {} } } } },
  }
  for (const one of [app, plain]) {
    const own = { config: { formats: ['json', 'csv'] as const }, schema: { response: { 200: rows } } }
    one.get('/Legacy/rows', own as object, async () => ({ rows: [{ id: 1 }] }))
  }
  const headers = { cookie: 'sid=1', origin: 'https://other.example', accept: 'text/csv' }
  for (const [method, url] of [
    ['GET', '/Legacy/getUser/AbC'],
    ['GET', '/Legacy/rows?format=csv'],
    ['POST', '/Legacy/list'],
  ] as const) {
    const [one, other] = [
      await plain.inject({ method, url, headers }),
      await app.inject({ method, url, headers }),
    ]
    t.equal(other.statusCode, one.statusCode, `${method} ${url}`)
    t.equal(other.body, one.body, `${method} ${url}`)
    t.strictSame(changed(one.headers, other.headers), {}, `${method} ${url}`)
  }
  t.match(await app.inject('/v1/users'), { statusCode: 403 }, 'another one needs TLS')
})

t.test('operations are below the basePath, and below the prefix of a context', async (t) => {
  const operation = { statusCode: 404, body: /operation/i }
  const root = Fastify()
  await root.register(conventions, { basePath: '/api' })
  root.operations.define('import', async () => {})
  t.match(await root.inject('/api/v1/operations/x'), operation)
  t.equal(root.hasRoute({ method: 'GET', url: '/v1/operations/:id' }), false)

  const own = Fastify()
  await own.register(conventions, { basePath: '/api', operations: { path: '/api/v2/jobs' } })
  own.operations.define('import', async () => {})
  await own.ready()
  t.ok(own.hasRoute({ method: 'GET', url: '/api/v2/jobs/:id' }))

  const prefixed = Fastify()
  prefixed.register(
    async (api) => {
      await api.register(conventions, { basePath: '/api' })
      api.operations.define('import', async () => {})
      api.get('/v1/users', async () => ({ users: [] }))
    },
    { prefix: '/api' },
  )
  await prefixed.ready()
  t.ok(prefixed.hasRoute({ method: 'GET', url: '/api/v1/operations/:id' }))
})

t.test('basePath is for all plugins; one of a plugin has precedence', async (t) => {
  const versions = { 1: { deprecated: '2026-01-01' } }
  const app = Fastify()
  await app.register(conventions, { basePath: '/api', versions: { versions } })
  app.get('/api/v1/users', async () => ({ users: [] }))
  t.match((await app.inject('/api/v1/users')).headers, { deprecation: /^@/ })

  const other = Fastify()
  await other.register(conventions, { basePath: '/api', pathGuard: { basePath: '/app' } })
  other.get('/app/v1/users', async () => ({ users: [] }))
  await t.resolves(async () => other.ready())

  const prefixed = Fastify()
  prefixed.register(
    async (api) => {
      await api.register(conventions, { versions: { versions } })
      api.get('/v1/users', async () => ({ users: [] }))
    },
    { prefix: '/api' },
  )
  t.match(
    (await prefixed.inject('/api/v1/users')).headers,
    { deprecation: /^@/ },
    'the prefix of the context',
  )
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

type Headers = Readonly<Record<string, unknown>>

/** The headers that differ, apart from the date. */
function changed(one: Headers, other: Headers): Headers {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  names.delete('date')
  return Object.fromEntries(
    [...names].filter((name) => one[name] !== other[name]).map((name) => [name, other[name]]),
  )
}

async function booted(options: ConventionsOptions): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(conventions, options)
  app.get('/v1/users', async () => ({ users: [] }))
  return app.ready().then(() => app)
}
