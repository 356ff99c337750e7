import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import conventions, { type OperationsOptions, serverOptions } from 'fastify-conventions'
import { redisMaintenanceStore } from 'fastify-conventions/stores/redis'
import type { Redis } from 'ioredis'
import { mountActions } from './actions.js'
import { callerOf, identifyCallers, requireCaller } from './caller.js'
import { mountCollection } from './collection.js'
import { collections } from './collections/index.js'
import type { Database } from './database.js'
import { mountInvoices } from './invoices.js'
import { describeApi } from './openapi.js'
import { problemSchema } from './problem-responses.js'
import { mountRetries } from './retries.js'
import { itemSchema } from './schemas.js'
import { mountTerms } from './terms.js'
import { validatorCompiler } from './validation.js'

/** What the service needs from the outside. */
export interface AppOptions {
  /** Migrated; the caller closes it after the app. */
  readonly database: Database
  /** What instances share is in there; without it each is by itself. The caller closes it after the app. */
  readonly redis?: Redis | null
  /** As Fastify takes it. Default: no log. */
  readonly logger?: FastifyServerOptions['logger']
  /** A file whose existence means maintenance; none by default. */
  readonly maintenanceFile?: string | null
  /** Origins whose pages may use the service, such as `https://app.example`; none by default. */
  readonly corsOrigins?: readonly string[]
  /** Requests per minute and caller. */
  readonly rateLimitMax?: number
  /** Where operations are kept and what runs them; in this process by default. The caller closes them after the app. */
  readonly operations?: Pick<OperationsOptions, 'store' | 'engine'>
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace?: number
}

/** Builds the service, ready to listen. */
export async function buildApp({
  database,
  redis = null,
  logger = false,
  maintenanceFile = null,
  corsOrigins = [],
  rateLimitMax = 1_000,
  operations = {},
  pace = 1,
}: AppOptions): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({ ...serverOptions(), logger })
  app.setValidatorCompiler(validatorCompiler())
  await app.register(conventions, {
    maintenance: {
      ...(maintenanceFile === null ? {} : { file: maintenanceFile }),
      ...(redis === null ? {} : { store: redisMaintenanceStore(redis) }),
    },
    rateLimit: { max: rateLimitMax, ...(redis === null ? {} : { redis }) },
    versions: { versions: { 1: {} } },
    selfAlias: {
      collections: collections.filter(({ hasCallers }) => hasCallers).map(({ name }) => name),
      identify: requireCaller,
    },
    operations: { ...operations, identify: callerOf },
    ...(corsOrigins.length === 0 ? {} : { cors: { origin: corsOrigins } }),
  })
  identifyCallers(app, { database })
  await describeApi(app)
  for (const schema of [problemSchema, ...collections.map(itemSchema)]) app.addSchema(schema)
  for (const collection of collections) await app.register(mountCollection, { collection, database, pace })
  await app.register(mountActions, { database })
  await app.register(mountRetries, { database, pace })
  await app.register(mountInvoices, { database, pace })
  await app.register(mountTerms)
  return app
}
