import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import conventions, {
  type BearerOptions,
  type OperationsOptions,
  serverOptions,
  type XsrfOptions,
} from 'fastify-conventions'
import { postgresIdempotency } from 'fastify-conventions/stores/postgres'
import { redisMaintenanceStore } from 'fastify-conventions/stores/redis'
import type { Redis } from 'ioredis'
import type { AuthorizationServer } from './authorization/server.js'
import { requireUser } from './caller.js'
import { collections, items } from './collections/index.js'
import { connectionOf, type Database } from './database.js'
import { mountHealth } from './health.js'
import { mountInvoices } from './invoices.js'
import { describeApi, type OpenApiVersion, openPages, provided, securityScheme } from './openapi.js'
import { mountPlayground, playgroundPages } from './playground.js'
import { fetchFrom, mountLogin, openSessions, type SessionOptions, sessionCookie } from './sessions.js'
import { mountTerms } from './terms.js'
import { type Certificate, closeSessionsAtStop, secureServer } from './tls.js'
import { acceptBodies, longestBody, refuseEmptyIds, validatorCompiler } from './validation.js'

/** What the service needs from the outside. */
export interface AppOptions {
  /** Migrated; the caller closes it after the app. */
  readonly database: Database
  /** What instances share is in there; without it each is by itself. The caller closes it after the app. */
  readonly redis?: Redis | null
  /** As Fastify takes it. Default: no log. */
  readonly logger?: FastifyServerOptions['logger']
  /** Serves HTTP/2 and HTTP/1.1 over TLS with it; HTTP/1.1 without TLS by default. */
  readonly certificate?: Certificate | null
  /** Whose tokens the service takes. */
  readonly bearer: Omit<BearerOptions, 'securityScheme'>
  /** An authorization server to be part of the service, for development; none by default. */
  readonly authorizationServer?: AuthorizationServer | null
  /** Lets browsers log in; by default there are tokens only. */
  readonly sessions?:
    | (Pick<SessionOptions, 'clientId' | 'secret' | 'fetch'> & Pick<XsrfOptions, 'mode'>)
    | null
  /** Addresses of proxies that are believed who the client is, as Fastify takes them; none by default. */
  readonly trustProxy?: string | false
  /** A file whose existence means maintenance; none by default. */
  readonly maintenanceFile?: string | null
  /** Origins whose pages may use the service, such as `https://app.example`; none by default. */
  readonly corsOrigins?: readonly string[]
  /** Requests per minute and caller. */
  readonly rateLimitMax?: number
  /** Where operations are kept and what runs them; in this process by default. The caller closes them after the app. */
  readonly operations?: Pick<OperationsOptions, 'store' | 'engine'>
  /** Version of OpenAPI of the document. Default: `3.1.0`. */
  readonly openApiVersion?: OpenApiVersion
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace?: number
}

/** Builds the service, ready to listen. */
export async function buildApp({
  database,
  bearer,
  redis = null,
  logger = false,
  certificate = null,
  authorizationServer = null,
  sessions = null,
  trustProxy = false,
  maintenanceFile = null,
  corsOrigins = [],
  rateLimitMax = 1_000,
  operations = {},
  openApiVersion = '3.1.0',
  pace = 1,
}: AppOptions): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    ...serverOptions(),
    bodyLimit: longestBody,
    logger,
    trustProxy,
    ...(certificate && secureServer(certificate)),
  })
  if (certificate !== null) closeSessionsAtStop(app)
  app.setValidatorCompiler(validatorCompiler())
  acceptBodies(app)
  refuseEmptyIds(app)
  const { issuer } = bearer
  const isEmbedded = authorizationServer !== null
  const login = sessions && {
    ...sessions,
    issuer,
    isSecure: certificate !== null,
    ...(isEmbedded && { fetch: fetchFrom(app) }),
  }
  if (login !== null) await openSessions(app, login)
  await app.register(conventions, {
    maintenance: {
      ...(maintenanceFile && { file: maintenanceFile }),
      ...(redis && { store: redisMaintenanceStore(redis) }),
    },
    rateLimit: { max: rateLimitMax, ...(redis && { redis }) },
    versions: { versions: provided },
    selfAlias: { collections: ['users'], identify: requireUser },
    bearer: { ...bearer, securityScheme },
    exceptions: [...openPages, ...playgroundPages].map((page) => ({ ...page, except: ['bearer'] as const })),
    operations: { ...operations, identify: ({ caller }) => caller?.subject ?? null },
    // In the database, so that an effect and its answer can be committed together.
    idempotency: { store: postgresIdempotency(connectionOf(database)) },
    ...(login && {
      xsrf: { cookies: [sessionCookie(login)], secret: login.secret, mode: login.mode ?? 'enforce' },
    }),
    formats: {},
    // A proxy sends no other instance what this one refuses: a request that has arrived is served.
    problems: { whileClosing: 'serve', codes: { forbidden: 403, 'database-unavailable': 503 } },
    ...(corsOrigins.length > 0 && { cors: { origin: corsOrigins } }),
  })
  if (authorizationServer !== null) {
    const { mountAuthorizationServer } = await import('./authorization/mount.js')
    await mountAuthorizationServer(app, { server: authorizationServer, database })
  }
  if (login !== null) await mountLogin(app, login)
  await describeApi(app, { issuer, isEmbedded, version: openApiVersion })
  await app.register(mountHealth, { db: database })
  await app.register(mountPlayground, { mayMaintain: isEmbedded })
  for (const item of Object.values(items)) app.addSchema(item)
  for (const mountCollection of collections) await app.register(mountCollection, { db: database, pace })
  await app.register(mountInvoices, { db: database, pace })
  await app.register(mountTerms)
  return app
}
