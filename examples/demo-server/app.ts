import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import conventions, {
  type BearerOptions,
  type OperationsOptions,
  serverOptions,
  type XsrfOptions,
} from 'fastify-conventions'
import { type DevIssuerOptions, devIssuer as devIssuerPlugin } from 'fastify-conventions/dev-issuer'
import { postgresIdempotency } from 'fastify-conventions/stores/postgres'
import { redisMaintenanceStore } from 'fastify-conventions/stores/redis'
import type { Redis } from 'ioredis'
import { mountPlayground, playgroundPages, watchCards } from '../playground/index.js'
import { requireUser } from './caller.js'
import { collections, items } from './collections/index.js'
import { connectionOf, type Database } from './database.js'
import { mountHealth } from './health.js'
import { mountInvoices } from './invoices.js'
import { describeApi, type OpenApiVersion, openPages, provided, securityScheme } from './openapi.js'
import { fetchFrom, mountLogin, openSessions, type SessionOptions, sessionCookie } from './sessions.js'
import { mountTerms } from './terms.js'
import { type Certificate, secureServer } from './tls.js'
import { acceptPatches, longestBody, validatorCompiler } from './validation.js'

export interface AppOptions {
  /** Migrated; the caller closes it after the app. */
  readonly database: Database
  /** What instances share is in there; without it each is by itself. The caller closes it after the app. */
  readonly redis?: Redis | null
  readonly logger?: FastifyServerOptions['logger']
  readonly certificate?: Certificate | null
  readonly bearer: Omit<BearerOptions, 'securityScheme' | 'audience'> & { readonly audience: string }
  /** Makes the issuer of these tokens part of the service, for development. */
  readonly devIssuer?: Omit<DevIssuerOptions, 'issuer' | 'audience'> | null
  readonly sessions?:
    | (Pick<SessionOptions, 'clientId' | 'secret' | 'fetch'> & Pick<XsrfOptions, 'mode'>)
    | null
  /** Addresses of proxies that are believed who the client is, as Fastify takes them; none by default. */
  readonly trustProxy?: string | false
  readonly maintenanceFile?: string | null
  readonly corsOrigins?: readonly string[]
  readonly rateLimitMax?: number
  /** Where operations are kept and what runs them; in this process by default. The caller closes them after the app. */
  readonly operations?: Pick<OperationsOptions, 'store' | 'engine'>
  readonly openApiVersion?: OpenApiVersion
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace?: number
}

export async function buildApp({
  database,
  bearer,
  devIssuer = null,
  redis = null,
  logger = false,
  certificate = null,
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
  app.setValidatorCompiler(validatorCompiler())
  acceptPatches(app)
  const { issuer, audience } = bearer
  const isEmbedded = devIssuer !== null
  const own = isEmbedded && { fetch: fetchFrom(app), allowHttp: true }
  const login = sessions && { ...sessions, issuer, isSecure: certificate !== null, ...own }
  if (login !== null) await openSessions(app, login)
  if (isEmbedded) watchCards(app)
  await app.register(conventions, {
    maintenance: {
      ...(maintenanceFile && { file: maintenanceFile }),
      ...(redis && { store: redisMaintenanceStore(redis) }),
    },
    rateLimit: { max: rateLimitMax, ...(redis && { redis }) },
    versions: { versions: provided },
    selfAlias: { collections: ['users'], identify: requireUser },
    bearer: { ...bearer, ...own, securityScheme },
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
  if (devIssuer !== null) await app.register(devIssuerPlugin, { issuer, audience, ...devIssuer })
  if (login !== null) await mountLogin(app, login)
  await describeApi(app, { issuer, isEmbedded, version: openApiVersion })
  await app.register(mountHealth, { db: database })
  await app.register(mountPlayground, { isDevelopment: isEmbedded })
  for (const item of Object.values(items)) app.addSchema(item)
  for (const mountCollection of collections) await app.register(mountCollection, { db: database, pace })
  await app.register(mountInvoices, { db: database, pace })
  await app.register(mountTerms)
  return app
}
