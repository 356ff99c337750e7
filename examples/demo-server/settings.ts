import { randomBytes } from 'node:crypto'
import { Ajv, type ErrorObject } from 'ajv'
import { envSchema } from 'env-schema'
import { type Static, Type } from 'typebox'
import { clientIds } from './authorization/clients.js'

/** How the service is started, from the environment. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Files in PEM, or a certificate that is made at the start; `null` without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | 'dev' | null
  readonly logLevel: LogLevel
  /** Who issues the tokens, and the API that they are for; `null` for the authorization server of the demo itself. */
  readonly authorization: { readonly issuer: string; readonly audience: string } | null
  /** The origin at which this process reaches the issuer, if it is not that of its URL. */
  readonly issuerAddress: string | null
  /** The client of the issuer that browsers log in with; `null`: browsers do not log in. */
  readonly clientId: string | null
  /** Encrypts the cookies of sessions. */
  readonly sessionSecret: string
  /** A PostgreSQL server, a folder for the embedded database, or neither: embedded, in memory. */
  readonly storage: { readonly url: string } | { readonly folder: string } | null
  /** A Redis server for what instances share; without it each is by itself. */
  readonly redisUrl: string | null
  /** Where operations are kept, and the queue of their work: `memory` is this process alone. */
  readonly operations: 'memory' | 'redis' | 'postgres'
  /** Does this process run operations, or leave them to others? */
  readonly work: boolean
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace: number
  /** A file whose existence means maintenance. */
  readonly maintenanceFile: string | null
  /** Origins whose pages may use the service. */
  readonly corsOrigins: readonly string[]
  /** Requests per minute and caller. */
  readonly rateLimitMax: number
  /** Addresses of the proxies in front. */
  readonly trustProxy: string | false
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

type LogLevel = (typeof logLevels)[number]

const text = (options: Type.TStringOptions = {}) => Type.Optional(Type.String(options))

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
  LOG_LEVEL: Type.Unsafe<LogLevel>({
    type: 'string',
    default: 'info',
    enum: logLevels,
    description: `one of ${logLevels.join(', ')}`,
  }),
  DATABASE_URL: text({
    pattern: '^postgres(ql)?://.',
    writeOnly: true,
    description: 'a URL such as postgres://host/name',
  }),
  DATA_DIR: text(),
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

/**
 * Reads the variables of the environment that the README lists; one that is empty counts as not set.
 *
 * @throws Error of one line, which names the variable, what was expected and what came.
 */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const variables = read(environment)
  const storage = storageOf(variables)
  const operations = operationsOf(variables, storage)
  const work = variables.WORK === 'on'
  if (!work && !isShared(operations, storage)) throw new Error(`WORK: 'off' ${needsOthers}`)
  return {
    host: variables.HOST,
    port: Number(variables.PORT),
    tls: tlsOf(variables),
    authorization: authorizationOf(variables),
    issuerAddress: variables.ISSUER_ADDRESS ?? null,
    clientId: variables.CLIENT_ID ?? (variables.ISSUER_URL === undefined ? clientIds.app : null),
    // Without one, sessions end with the process, and other instances do not know them.
    sessionSecret: variables.SESSION_SECRET ?? randomBytes(32).toString('base64url'),
    logLevel: variables.LOG_LEVEL,
    storage,
    redisUrl: variables.REDIS_URL ?? null,
    operations,
    work,
    pace: Number(variables.PACE),
    maintenanceFile: variables.MAINTENANCE_FILE ?? null,
    corsOrigins: variables.CORS_ORIGIN,
    rateLimitMax: Number(variables.RATE_LIMIT_MAX),
    trustProxy: variables.TRUST_PROXY ?? false,
  }
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

function tlsOf({ HTTPS: https, TLS_CERT: cert, TLS_KEY: key }: Static<typeof Variables>): Settings['tls'] {
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error('TLS_CERT and TLS_KEY: expected both, received one of them')
  }
  if (cert === undefined || key === undefined) return https === undefined ? null : 'dev'
  if (https !== undefined) throw new Error('HTTPS: expected no TLS_CERT beside it, received both')
  return { cert, key }
}

function authorizationOf({
  ISSUER_URL: issuer,
  AUDIENCE: audience,
  ISSUER_ADDRESS: address,
}: Static<typeof Variables>): Settings['authorization'] {
  if (issuer !== undefined) return { issuer, audience: audience ?? audienceOf(issuer) }
  if (audience !== undefined) throw new Error('AUDIENCE: expected ISSUER_URL beside it')
  if (address !== undefined) throw new Error('ISSUER_ADDRESS: expected ISSUER_URL beside it')
  return null
}

/** The API that tokens are for, where nothing else is agreed on: instances of the demo may have one issuer. */
export function audienceOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/v1`
}

function storageOf({ DATABASE_URL: url, DATA_DIR: folder }: Static<typeof Variables>): Settings['storage'] {
  if (url === undefined) return folder === undefined ? null : { folder }
  if (folder !== undefined) throw new Error('DATABASE_URL and DATA_DIR: expected one of them, received both')
  return { url }
}

function operationsOf(
  { OPERATIONS: text, REDIS_URL: redisUrl }: Static<typeof Variables>,
  storage: Settings['storage'],
): Settings['operations'] {
  if (text === undefined) return redisUrl === undefined ? 'memory' : 'redis'
  if (storage === null || 'folder' in storage) throw new Error("OPERATIONS: 'postgres' needs DATABASE_URL")
  return 'postgres'
}

/** Can other processes run operations of this one? They have to find them, and to see the same data. */
export function isShared(operations: Settings['operations'], storage: Settings['storage']): boolean {
  return operations !== 'memory' && storage !== null && 'url' in storage
}

/** What leaving operations to other processes takes. */
export const needsOthers = 'needs DATABASE_URL, and REDIS_URL or OPERATIONS=postgres'
