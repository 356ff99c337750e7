import { randomBytes } from 'node:crypto'
import { clientIds } from './authorization/client-ids.js'

/** How the service is started, from the environment. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Files in PEM, or a certificate that is made at the start; `null` without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | 'dev' | null
  readonly logLevel: LogLevel
  /** Who issues the tokens, and the API that they are for; `null` for the authorization server of the demo itself. */
  readonly authorization: { readonly issuer: string; readonly audience: string } | null
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
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

type LogLevel = (typeof logLevels)[number]

/**
 * Reads `HOST`, `PORT`, `HTTPS`, `TLS_CERT`, `TLS_KEY`, `ISSUER_URL`, `AUDIENCE`, `CLIENT_ID`, `SESSION_SECRET`, `LOG_LEVEL`, `DATABASE_URL`, `DATA_DIR`,
 * `REDIS_URL`, `OPERATIONS`, `WORK`, `PACE`, `MAINTENANCE_FILE`, `CORS_ORIGIN` and `RATE_LIMIT_MAX`; one that is empty counts as not set.
 *
 * @throws Error of one line, which names the variable, what was expected and what came.
 */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const value = (name: string) => environment[name]?.trim() || undefined
  const storage = storageOf(value('DATABASE_URL'), value('DATA_DIR'))
  const redisUrl = redisUrlOf(value('REDIS_URL'))
  const operations = operationsOf(value('OPERATIONS'), redisUrl, storage)
  return {
    host: value('HOST') ?? '127.0.0.1',
    port: portOf(value('PORT') ?? '3000'),
    tls: tlsOf(value('HTTPS'), value('TLS_CERT'), value('TLS_KEY')),
    authorization: authorizationOf(value('ISSUER_URL'), value('AUDIENCE')),
    clientId: value('CLIENT_ID') ?? (value('ISSUER_URL') === undefined ? clientIds.app : null),
    sessionSecret: secretOf(value('SESSION_SECRET')),
    logLevel: logLevelOf(value('LOG_LEVEL') ?? 'info'),
    storage,
    redisUrl,
    operations,
    work: workOf(value('WORK') ?? 'on', operations, storage),
    pace: paceOf(value('PACE') ?? '1'),
    maintenanceFile: value('MAINTENANCE_FILE') ?? null,
    corsOrigins: corsOriginsOf(value('CORS_ORIGIN') ?? ''),
    rateLimitMax: rateLimitOf(value('RATE_LIMIT_MAX') ?? '1000'),
  }
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new Error(`PORT: expected a number from 0 to 65535, received '${text}'`)
  return port
}

/** Without one, sessions end with the process, and other instances do not know them. */
function secretOf(text: string | undefined): string {
  if (text === undefined) return randomBytes(32).toString('base64url')
  // The message does not show it.
  if (text.length < 32) throw new Error('SESSION_SECRET: expected at least 32 characters')
  return text
}

function tlsOf(
  https: string | undefined,
  cert: string | undefined,
  key: string | undefined,
): Settings['tls'] {
  if (https !== undefined && https !== 'dev') throw new Error(`HTTPS: expected 'dev', received '${https}'`)
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error('TLS_CERT and TLS_KEY: expected both, received one of them')
  }
  if (cert === undefined || key === undefined) return https ?? null
  if (https !== undefined) throw new Error('HTTPS: expected no TLS_CERT beside it, received both')
  return { cert, key }
}

function authorizationOf(
  issuer: string | undefined,
  audience: string | undefined,
): Settings['authorization'] {
  if (issuer === undefined) {
    if (audience !== undefined) throw new Error('AUDIENCE: expected ISSUER_URL beside it')
    return null
  }
  const isUrl = URL.canParse(issuer) && /^https?:$/.test(new URL(issuer).protocol) && !/[?#]/.test(issuer)
  if (!isUrl)
    throw new Error(`ISSUER_URL: expected a URL such as https://id.example.com, received '${issuer}'`)
  return { issuer, audience: audience ?? audienceOf(issuer) }
}

/** The API that tokens are for, where nothing else is agreed on: instances of the demo may have one issuer. */
export function audienceOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/v1`
}

function paceOf(text: string): number {
  const pace = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Number(text) : 0
  if (pace <= 0) throw new Error(`PACE: expected a number from 0.001 to 999.999, received '${text}'`)
  return pace
}

function rateLimitOf(text: string): number {
  const max = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (max < 1) throw new Error(`RATE_LIMIT_MAX: expected a number from 1 to 999999999, received '${text}'`)
  return max
}

function corsOriginsOf(list: string): string[] {
  const origins = list.split(',').flatMap((origin) => origin.trim() || [])
  for (const origin of origins) {
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue
    throw new Error(`CORS_ORIGIN: expected origins such as https://app.example, received '${origin}'`)
  }
  return origins
}

function logLevelOf(text: string): LogLevel {
  const level = logLevels.find((known) => known === text)
  if (level === undefined) {
    throw new Error(`LOG_LEVEL: expected one of ${logLevels.join(', ')}, received '${text}'`)
  }
  return level
}

function storageOf(url: string | undefined, folder: string | undefined): Settings['storage'] {
  if (url === undefined) return folder === undefined ? null : { folder }
  if (folder !== undefined) throw new Error('DATABASE_URL and DATA_DIR: expected one of them, received both')
  // The URL may hold a password, so the message does not show it.
  if (!/^postgres(ql)?:\/\/./.test(url))
    throw new Error('DATABASE_URL: expected a URL such as postgres://host/name')
  return { url }
}

/** Also the number of a database is checked: what is none would be taken for another one. */
function redisUrlOf(url: string | undefined): string | null {
  if (url === undefined) return null
  // As with that of the database, the message does not show it.
  if (!/^rediss?:\/\/[^/]/.test(url) || !URL.canParse(url) || !/^(?:\/\d*)?$/.test(new URL(url).pathname)) {
    throw new Error('REDIS_URL: expected a URL such as redis://host:6379/0')
  }
  return url
}

function operationsOf(
  text: string | undefined,
  redisUrl: string | null,
  storage: Settings['storage'],
): Settings['operations'] {
  if (text === undefined) return redisUrl === null ? 'memory' : 'redis'
  if (text !== 'postgres') throw new Error(`OPERATIONS: expected 'postgres', received '${text}'`)
  if (storage === null || 'folder' in storage) throw new Error("OPERATIONS: 'postgres' needs DATABASE_URL")
  return text
}

function workOf(text: string, operations: Settings['operations'], storage: Settings['storage']): boolean {
  if (text !== 'on' && text !== 'off') throw new Error(`WORK: expected 'on' or 'off', received '${text}'`)
  if (text === 'off' && !isShared(operations, storage)) throw new Error(`WORK: 'off' ${needsOthers}`)
  return text === 'on'
}

/** Can other processes run operations of this one? They have to find them, and to see the same data. */
export function isShared(operations: Settings['operations'], storage: Settings['storage']): boolean {
  return operations !== 'memory' && storage !== null && 'url' in storage
}

/** What leaving operations to other processes takes. */
export const needsOthers = 'needs DATABASE_URL, and REDIS_URL or OPERATIONS=postgres'
