import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import conventions, { serverOptions } from 'fastify-conventions'
import { mountActions } from './actions.js'
import { callerOf } from './caller.js'
import { mountCollection } from './collection.js'
import { collections } from './collections/index.js'
import type { Database } from './database.js'
import { mountInvoices } from './invoices.js'
import { describeApi } from './openapi.js'
import { problemSchema } from './problem-responses.js'
import { itemSchema } from './schemas.js'
import { mountTerms } from './terms.js'
import { validatorCompiler } from './validation.js'

/** What the service needs from the outside. */
export interface AppOptions {
  /** Migrated; the caller closes it after the app. */
  readonly database: Database
  /** As Fastify takes it. Default: no log. */
  readonly logger?: FastifyServerOptions['logger']
  /** A file whose existence means maintenance; none by default. */
  readonly maintenanceFile?: string | null
  /** Requests per minute and caller. */
  readonly rateLimitMax?: number
}

/** Builds the service, ready to listen. */
export async function buildApp({
  database,
  logger = false,
  maintenanceFile = null,
  rateLimitMax = 1_000,
}: AppOptions): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({ ...serverOptions(), logger })
  app.setValidatorCompiler(validatorCompiler())
  await app.register(conventions, {
    ...(maintenanceFile === null ? {} : { maintenance: { file: maintenanceFile } }),
    rateLimit: { max: rateLimitMax },
    versions: { versions: { 1: {} } },
    selfAlias: {
      collections: collections.filter(({ hasCallers }) => hasCallers).map(({ name }) => name),
      identify: callerOf,
    },
  })
  await describeApi(app)
  for (const schema of [problemSchema, ...collections.map(itemSchema)]) app.addSchema(schema)
  for (const collection of collections) await app.register(mountCollection, { collection, database })
  await app.register(mountActions, { database })
  await app.register(mountInvoices, { database })
  await app.register(mountTerms)
  return app
}
