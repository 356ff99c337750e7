import { randomBytes } from 'node:crypto'
import { Ajv, type ErrorObject } from 'ajv'
import { envSchema } from 'env-schema'
import { type Static, Type } from 'typebox'
import { audienceOf, clientIds } from './authorization.js'
import { oneOf, withDefault } from './schemas.js'

export type Settings = ReturnType<typeof readSettings>

const text = (options: Type.TStringOptions = {}) => Type.Optional(Type.String(options))

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** The variables, as text. A `description` says what is expected of a value; one that is `writeOnly` is not shown. */
const Variables = Type.Object({
  HOST: Type.String({ default: '127.0.0.1' }),
  PORT: Type.String({ default: '3000', format: 'port', description: 'a number from 0 to 65535' }),
  HTTPS: text({ pattern: '^dev$', description: "'dev'" }),
  TLS_CERT: text(),
  TLS_KEY: text(),
  ISSUER_URL: text({ format: 'issuer', description: 'a URL such as https://id.example.com' }),
  ISSUER_ADDRESS: text({ format: 'origin', description: 'an origin such as http://proxy:8080' }),
  AUDIENCE: text(),
  CLIENT_ID: text(),
  SESSION_SECRET: text({ minLength: 32, writeOnly: true, description: 'at least 32 characters' }),
  LOG_LEVEL: withDefault(oneOf(logLevels, `one of ${logLevels.join(', ')}`), 'info'),
  DATABASE_URL: text({
    pattern: '^postgres(ql)?://.',
    writeOnly: true,
    description: 'a URL such as postgres://host/name',
  }),
  REDIS_URL: text({ format: 'redis', writeOnly: true, description: 'a URL such as redis://host:6379/0' }),
  OPERATIONS: text({ pattern: '^postgres$', description: "'postgres'" }),
  WORK: Type.String({ default: 'on', pattern: '^(on|off)$', description: "'on' or 'off'" }),
  PACE: Type.String({ default: '1', format: 'pace', description: 'a number from 0.001 to 999.999' }),
  MAINTENANCE_FILE: text(),
  CORS_ORIGIN: Type.Unsafe<string[]>({
    type: 'array',
    default: [],
    items: { type: 'string', format: 'origin', description: 'origins such as https://app.example' },
  }),
  TRUST_PROXY: text(),
  RATE_LIMIT_MAX: Type.String({
    default: '1000',
    pattern: '^0*[1-9]\\d{0,8}$',
    description: 'a number from 1 to 999999999',
  }),
})

const ajv = new Ajv({
  useDefaults: true,
  // The error has the value and its schema.
  verbose: true,
  formats: {
    port: (value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535,
    pace: (value) => /^\d{1,3}(\.\d{1,3})?$/.test(value) && Number(value) > 0,
    issuer: (value) =>
      URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !/[?#]/.test(value),
    origin: (value) => URL.canParse(value) && new URL(value).origin === value,
    // Also the number of a database is checked: what is none would be taken for another one.
    redis: (value) =>
      /^rediss?:\/\/[^/]/.test(value) && URL.canParse(value) && /^(?:\/\d*)?$/.test(new URL(value).pathname),
  },
})

export function readSettings(environment: NodeJS.ProcessEnv) {
  const variables = read(environment)
  const { HTTPS, TLS_CERT, TLS_KEY, ISSUER_URL, ISSUER_ADDRESS, AUDIENCE } = variables
  const { DATABASE_URL, REDIS_URL, OPERATIONS } = variables
  const isGiven = (...values: unknown[]) => values.every((value) => value !== undefined)
  refuse(isGiven(TLS_CERT) !== isGiven(TLS_KEY), 'TLS_CERT and TLS_KEY: expected both, received one of them')
  refuse(isGiven(HTTPS, TLS_CERT), 'HTTPS: expected no TLS_CERT beside it, received both')
  refuse(isGiven(AUDIENCE) && !isGiven(ISSUER_URL), 'AUDIENCE: expected ISSUER_URL beside it')
  refuse(isGiven(ISSUER_ADDRESS) && !isGiven(ISSUER_URL), 'ISSUER_ADDRESS: expected ISSUER_URL beside it')
  refuse(isGiven(OPERATIONS) && !isGiven(DATABASE_URL), "OPERATIONS: 'postgres' needs DATABASE_URL")
  const work = variables.WORK === 'on'
  const operations = OPERATIONS ? 'postgres' : REDIS_URL ? 'redis' : 'memory'
  refuse(!work && !isShared(operations, DATABASE_URL), `WORK: 'off' ${needsOthers}`)
  return {
    host: variables.HOST,
    port: Number(variables.PORT),
    /** Files in PEM, or a certificate that is made at the start; `null` without TLS. */
    tls: TLS_CERT && TLS_KEY ? { cert: TLS_CERT, key: TLS_KEY } : HTTPS ? ('dev' as const) : null,
    logLevel: variables.LOG_LEVEL,
    /** Who issues the tokens, and the API that they are for; `null` for the authorization server of the demo itself. */
    authorization: ISSUER_URL ? { issuer: ISSUER_URL, audience: AUDIENCE ?? audienceOf(ISSUER_URL) } : null,
    /** The origin at which this process reaches the issuer, if it is not that of its URL. */
    issuerAddress: ISSUER_ADDRESS ?? null,
    /** The client of the issuer that browsers log in with; `null`: browsers do not log in. */
    clientId: variables.CLIENT_ID ?? (ISSUER_URL ? null : clientIds.app),
    /** Encrypts the cookies of sessions. A random one ends them with the process, and other instances do not know them. */
    sessionSecret: variables.SESSION_SECRET ?? randomBytes(32).toString('base64url'),
    /** A PostgreSQL server; `null` for the embedded one. */
    databaseUrl: DATABASE_URL ?? null,
    redisUrl: REDIS_URL ?? null,
    /** Where operations are kept, and the queue of their work: `memory` is this process alone. */
    operations,
    work,
    pace: Number(variables.PACE),
    maintenanceFile: variables.MAINTENANCE_FILE ?? null,
    corsOrigins: variables.CORS_ORIGIN,
    rateLimitMax: Number(variables.RATE_LIMIT_MAX),
    trustProxy: variables.TRUST_PROXY ?? (false as const),
  }
}

function refuse(isWrong: boolean, message: string): void {
  if (isWrong) throw new Error(message)
}

function read(environment: NodeJS.ProcessEnv): Static<typeof Variables> {
  const names = Object.keys(Variables.properties)
  const values = names.flatMap((name) => {
    const value = environment[name]?.trim()
    return value ? [[name, name === 'CORS_ORIGIN' ? listOf(value) : value]] : []
  })
  try {
    return envSchema<Static<typeof Variables>>({
      schema: Variables,
      data: Object.fromEntries(values),
      env: false,
      ajv,
    })
  } catch (error) {
    const [first] = (error as { readonly errors?: readonly ErrorObject[] }).errors ?? []
    if (first === undefined) throw error
    const { description, writeOnly } = first.parentSchema ?? {}
    const received = writeOnly === true ? '' : `, received '${first.data}'`
    throw new Error(`${first.instancePath.split('/')[1]}: expected ${description}${received}`)
  }
}

function listOf(value: string): string[] {
  return value.split(',').flatMap((part) => part.trim() || [])
}

/** Whether other processes can run operations of this one: they have to find them, and to see the same data. */
export function isShared(operations: string, databaseUrl: string | null | undefined): boolean {
  return operations !== 'memory' && Boolean(databaseUrl)
}

export const needsOthers = 'needs DATABASE_URL, and REDIS_URL or OPERATIONS=postgres'
