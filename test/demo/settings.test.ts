import { join } from 'node:path'
import t from 'tap'
import { readSettings } from '../../examples/demo-server/settings.js'
import { developmentCertificate, openCertificate } from '../../examples/demo-server/tls.js'

const DATABASE_URL = 'postgres://host/name'
const REDIS_URL = 'redis://host'
const ISSUER_URL = 'https://id.example'

t.test('the defaults without variables', async (t) => {
  const empty = { PORT: '', HOST: ' ', DATABASE_URL: '', MAINTENANCE_FILE: ' ', SESSION_SECRET: '' }
  for (const variables of [{}, empty]) {
    const { sessionSecret: secret, ...settings } = readSettings(variables)
    t.strictSame(settings, {
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
    })
    t.match(secret, /^[\w-]{43}$/)
    t.not(secret, readSettings(variables).sessionSecret, 'the secret is random')
  }
})

t.test('each variable is read', async (t) => {
  const SESSION_SECRET = 'a secret of at least 32 characters'
  const ofIssuer = { authorization: { issuer: ISSUER_URL, audience: `${ISSUER_URL}/v1` } }
  const CORS_ORIGIN = ' https://a.example , http://localhost:8080,'
  const rows: readonly [Record<string, string>, object][] = [
    [{ HOST: '::1' }, { host: '::1' }],
    [{ PORT: '0' }, { port: 0 }],
    [{ LOG_LEVEL: 'warn' }, { logLevel: 'warn' }],
    [{ RATE_LIMIT_MAX: '5' }, { rateLimitMax: 5 }],
    [{ PACE: '0.02' }, { pace: 0.02 }],
    [{ TRUST_PROXY: '10.0.0.0/8' }, { trustProxy: '10.0.0.0/8' }],
    [{ MAINTENANCE_FILE: './a' }, { maintenanceFile: './a' }],
    [{ CORS_ORIGIN }, { corsOrigins: ['https://a.example', 'http://localhost:8080'] }],
    [{ HTTPS: 'dev' }, { tls: 'dev' }],
    [{ TLS_CERT: 'a.pem', TLS_KEY: 'b.pem' }, { tls: { cert: 'a.pem', key: 'b.pem' } }],
    [{ SESSION_SECRET }, { sessionSecret: SESSION_SECRET }],
    [{ ISSUER_URL }, { ...ofIssuer, clientId: null }],
    [{ ISSUER_URL, AUDIENCE: 'shop' }, { authorization: { audience: 'shop' } }],
    [
      { ISSUER_URL: `${ISSUER_URL}/`, CLIENT_ID: 'shop' },
      { clientId: 'shop', authorization: { audience: `${ISSUER_URL}/v1` } },
    ],
    [{ ISSUER_URL, ISSUER_ADDRESS: 'http://proxy:8080' }, { issuerAddress: 'http://proxy:8080' }],
    [{ DATABASE_URL }, { databaseUrl: DATABASE_URL, operations: 'memory' }],
    [{ REDIS_URL: 'rediss://u:p@host/3' }, { redisUrl: 'rediss://u:p@host/3', operations: 'redis' }],
    [
      { DATABASE_URL, REDIS_URL, WORK: 'off' },
      { operations: 'redis', work: false },
    ],
    [
      { DATABASE_URL, REDIS_URL, OPERATIONS: 'postgres' },
      { operations: 'postgres', work: true },
    ],
  ]
  for (const [variables, settings] of rows)
    t.match(readSettings(variables), settings, JSON.stringify(variables))
})

t.test(
  'an invalid value is an error of one line that names the variable, and hides what may be secret',
  async (t) => {
    const rows: readonly [name: string, values: readonly string[], expected: string, isShown?: false][] = [
      ['PORT', ['http', '65536', '1e3'], 'a number from 0 to 65535'],
      ['RATE_LIMIT_MAX', ['0', '1000000000'], 'a number from 1 to 999999999'],
      ['PACE', ['0.000', '1000', '.5'], 'a number from 0.001 to 999.999'],
      ['LOG_LEVEL', ['loud'], 'one of fatal, error, warn, info, debug, trace, silent'],
      ['HTTPS', ['on'], "'dev'"],
      ['WORK', ['no'], "'on' or 'off'"],
      ['ISSUER_URL', ['id', 'ftp://a', 'https://a/?a'], 'a URL such as https://id.example.com'],
      ['CORS_ORIGIN', ['*', 'https://a.example/'], 'origins such as https://app.example'],
      ['DATABASE_URL', ['mysql://u:secret@host'], 'a URL such as postgres://host/name', false],
      ['REDIS_URL', ['http://h', 'redis:///1', 'redis://h/shop'], 'a URL such as redis://host:6379/0', false],
      ['SESSION_SECRET', ['short'], 'at least 32 characters', false],
    ]
    for (const [name, wrong, expected, isShown = true] of rows) {
      for (const value of wrong) {
        const message = `${name}: expected ${expected}${isShown ? `, received '${value}'` : ''}`
        t.throws(() => readSettings({ [name]: value }), { message }, message)
      }
    }
  },
)

t.test('variables that need each other, or exclude each other', async (t) => {
  const both = 'TLS_CERT and TLS_KEY: expected both, received one of them'
  const needs = "WORK: 'off' needs DATABASE_URL, and REDIS_URL or OPERATIONS=postgres"
  const rows: readonly [Record<string, string>, string][] = [
    [{ TLS_CERT: 'a.pem' }, both],
    [{ TLS_KEY: 'b.pem' }, both],
    [{ HTTPS: 'dev', TLS_CERT: 'a', TLS_KEY: 'b' }, 'HTTPS: expected no TLS_CERT beside it, received both'],
    [{ AUDIENCE: 'shop' }, 'AUDIENCE: expected ISSUER_URL beside it'],
    [{ ISSUER_ADDRESS: 'http://proxy:8080' }, 'ISSUER_ADDRESS: expected ISSUER_URL beside it'],
    [{ OPERATIONS: 'postgres' }, "OPERATIONS: 'postgres' needs DATABASE_URL"],
    [{ DATABASE_URL, WORK: 'off' }, needs],
    [{ REDIS_URL, WORK: 'off' }, needs],
  ]
  for (const [variables, message] of rows) t.throws(() => readSettings(variables), { message }, message)
})

t.test('the certificate of files', async (t) => {
  const certificate = await developmentCertificate('demo.example')
  const folder = t.testdir({ cert: certificate.cert, key: certificate.key })
  const [TLS_CERT, TLS_KEY] = [join(folder, 'cert'), join(folder, 'key')]
  const open = (variables: Record<string, string>) => openCertificate(readSettings(variables))
  t.strictSame(await open({ TLS_CERT, TLS_KEY }), certificate)
  await t.rejects(open({ TLS_CERT: 'missing.pem', TLS_KEY }), /^TLS_CERT: ENOENT/)
  await t.rejects(open({ TLS_CERT, TLS_KEY: TLS_CERT }), /^TLS_CERT and TLS_KEY: /)
})
