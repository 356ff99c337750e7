import t from 'tap'
import { readSettings } from '../../examples/demo-server/settings.js'

t.test('the defaults without variables', async (t) => {
  const sessionSecret = /^[\w-]{43}$/
  const defaults = {
    host: '127.0.0.1',
    port: 3000,
    tls: null,
    authorization: null,
    issuerAddress: null,
    clientId: 'demo-app',
    logLevel: 'info',
    databaseUrl: null,
    redisUrl: null,
    operations: 'memory',
    work: true,
    pace: 1,
    maintenanceFile: null,
    corsOrigins: [],
    rateLimitMax: 1000,
    trustProxy: false,
  }
  for (const variables of [
    {},
    { PORT: '', HOST: ' ', DATABASE_URL: '', LOG_LEVEL: '' },
    { REDIS_URL: '', MAINTENANCE_FILE: ' ', RATE_LIMIT_MAX: '', SESSION_SECRET: '', CLIENT_ID: '' },
  ]) {
    const { sessionSecret: secret, ...settings } = readSettings(variables)
    t.strictSame(settings, defaults)
    t.match(secret, sessionSecret)
  }
})

t.test('browsers log in by the embedded issuer, or with a client of another one', async (t) => {
  const ISSUER_URL = 'https://id.example'
  t.equal(readSettings({ ISSUER_URL }).clientId, null)
  t.equal(readSettings({ ISSUER_URL, CLIENT_ID: 'shop' }).clientId, 'shop')
  t.not(readSettings({}).sessionSecret, readSettings({}).sessionSecret, 'the secret is random')
  const SESSION_SECRET = 'a secret of at least 32 characters'
  t.equal(readSettings({ SESSION_SECRET }).sessionSecret, SESSION_SECRET)
  t.throws(() => readSettings({ SESSION_SECRET: 'short' }), {
    message: 'SESSION_SECRET: expected at least 32 characters',
  })
})

t.test('all variables are read', async (t) => {
  t.match(readSettings({ HOST: '::1', PORT: '0', LOG_LEVEL: 'warn' }), {
    host: '::1',
    port: 0,
    logLevel: 'warn',
  })
  t.equal(readSettings({ RATE_LIMIT_MAX: '5' }).rateLimitMax, 5)
  t.equal(readSettings({ TRUST_PROXY: '10.0.0.0/8' }).trustProxy, '10.0.0.0/8')
  t.equal(readSettings({ PACE: '0.02' }).pace, 0.02)
  t.equal(readSettings({ MAINTENANCE_FILE: './stop.json' }).maintenanceFile, './stop.json')
  t.same(readSettings({ CORS_ORIGIN: ' https://a.example , http://localhost:8080,' }).corsOrigins, [
    'https://a.example',
    'http://localhost:8080',
  ])
  for (const url of ['postgres://u:p@host:5432/name', 'postgresql://host', 'postgres://%2Frun%2Fpg/name']) {
    t.equal(readSettings({ DATABASE_URL: url }).databaseUrl, url)
  }
  for (const url of ['redis://host', 'redis://:p@host:6379/', 'rediss://u:p@host/3', 'redis://[::1]:6379']) {
    t.equal(readSettings({ REDIS_URL: url }).redisUrl, url)
  }
})

t.test('operations use a shared store if one is configured', async (t) => {
  const DATABASE_URL = 'postgres://host/name'
  const REDIS_URL = 'redis://host'
  t.equal(readSettings({ DATABASE_URL }).operations, 'memory')
  t.equal(readSettings({ REDIS_URL }).operations, 'redis')
  t.equal(readSettings({ DATABASE_URL, REDIS_URL }).operations, 'redis')
  t.equal(readSettings({ DATABASE_URL, REDIS_URL, OPERATIONS: 'postgres' }).operations, 'postgres')
  t.equal(readSettings({ DATABASE_URL, REDIS_URL, WORK: 'off' }).work, false)
  t.throws(() => readSettings({ DATABASE_URL, OPERATIONS: 'mysql' }), /^OPERATIONS: expected 'postgres'/)
  t.throws(() => readSettings({ OPERATIONS: 'postgres' }), /^OPERATIONS: .* needs DATABASE_URL/)
  t.throws(() => readSettings({ REDIS_URL, WORK: 'no' }), /^WORK: expected 'on' or 'off', received 'no'/)
  for (const alone of [{ DATABASE_URL }, { REDIS_URL }]) {
    t.throws(
      () => readSettings({ ...alone, WORK: 'off' }),
      /^WORK: 'off' needs DATABASE_URL, and REDIS_URL or/,
    )
  }
})

t.test('an invalid value is an error of one line that names the variable', async (t) => {
  for (const PORT of ['http', '-1', '65536', '3000.5', '0x10', '1e3', '999999']) {
    t.throws(() => readSettings({ PORT }), {
      message: `PORT: expected a number from 0 to 65535, received '${PORT}'`,
    })
  }
  for (const RATE_LIMIT_MAX of ['0', '-1', 'many', '1e9', '1000000000']) {
    t.throws(() => readSettings({ RATE_LIMIT_MAX }), /^RATE_LIMIT_MAX: expected a number/)
  }
  for (const PACE of ['0', '0.000', '-1', 'fast', '1e9', '1000', '.5']) {
    t.throws(() => readSettings({ PACE }), /^PACE: expected a number/)
  }
  t.throws(
    () => readSettings({ LOG_LEVEL: 'loud' }),
    /^LOG_LEVEL: expected one of fatal, .*, received 'loud'$/,
  )
})

t.test('TLS has a certificate of its own, or one of files', async (t) => {
  t.equal(readSettings({ HTTPS: 'dev' }).tls, 'dev')
  t.same(readSettings({ TLS_CERT: 'a.pem', TLS_KEY: 'b.pem' }).tls, { cert: 'a.pem', key: 'b.pem' })
  const refused = [
    [{ HTTPS: 'on' }, "HTTPS: expected 'dev', received 'on'"],
    [{ TLS_CERT: 'a.pem' }, 'TLS_CERT and TLS_KEY: expected both, received one of them'],
    [{ TLS_KEY: 'b.pem' }, 'TLS_CERT and TLS_KEY: expected both, received one of them'],
    [
      { HTTPS: 'dev', TLS_CERT: 'a.pem', TLS_KEY: 'b.pem' },
      'HTTPS: expected no TLS_CERT beside it, received both',
    ],
  ] as const
  for (const [environment, message] of refused) t.throws(() => readSettings(environment), { message })
})

t.test('tokens are those of another issuer, for an API of a name', async (t) => {
  const issuer = 'https://id.example'
  t.same(readSettings({ ISSUER_URL: issuer }).authorization, { issuer, audience: `${issuer}/v1` })
  t.same(readSettings({ ISSUER_URL: `${issuer}/` }).authorization, {
    issuer: `${issuer}/`,
    audience: `${issuer}/v1`,
  })
  t.same(readSettings({ ISSUER_URL: issuer, AUDIENCE: 'shop' }).authorization, { issuer, audience: 'shop' })
  for (const ISSUER_URL of ['id.example', 'ftp://id.example', `${issuer}?a`, `${issuer}#a`]) {
    t.throws(() => readSettings({ ISSUER_URL }), {
      message: `ISSUER_URL: expected a URL such as https://id.example.com, received '${ISSUER_URL}'`,
    })
  }
  const ISSUER_ADDRESS = 'http://proxy:8080'
  t.equal(readSettings({ ISSUER_URL: issuer, ISSUER_ADDRESS }).issuerAddress, ISSUER_ADDRESS)
  t.throws(() => readSettings({ ISSUER_ADDRESS }), {
    message: 'ISSUER_ADDRESS: expected ISSUER_URL beside it',
  })
  t.throws(
    () => readSettings({ ISSUER_URL: issuer, ISSUER_ADDRESS: 'proxy/' }),
    /^ISSUER_ADDRESS: expected an origin/,
  )
  t.throws(() => readSettings({ AUDIENCE: 'shop' }), { message: 'AUDIENCE: expected ISSUER_URL beside it' })
})

t.test('an origin has a scheme, a host and a port only', async (t) => {
  for (const origin of [
    '*',
    'a.example',
    'https://a.example/',
    'https://a.example/x',
    'null',
    'HTTPS://A.example',
  ]) {
    t.throws(() => readSettings({ CORS_ORIGIN: `https://b.example,${origin}` }), {
      message: `CORS_ORIGIN: expected origins such as https://app.example, received '${origin}'`,
    })
  }
})

t.test('an invalid database URL is not printed, because it may have a password', async (t) => {
  const error = t.throws(() => readSettings({ DATABASE_URL: 'mysql://u:secret@host' })) as unknown as Error
  t.match(error.message, /^DATABASE_URL: expected/)
  t.notMatch(error.message, 'secret')
})

t.test('an invalid Redis URL is an error before connecting, and is not printed', async (t) => {
  const urls = [
    'http://h',
    'redis:h',
    'redis://',
    'redis:///1',
    'redis://h:99999',
    'redis://h/shop',
    'h:6379',
  ]
  for (const url of urls) {
    t.throws(
      () => readSettings({ REDIS_URL: url }),
      { message: 'REDIS_URL: expected a URL such as redis://host:6379/0' },
      url,
    )
  }
})
