import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { buildApp } from './app.js'
import type { Database } from './database.js'
import { openEmbeddedDatabase } from './database-embedded.js'
import { openServerDatabase } from './database-server.js'
import { messageOf } from './message-of.js'
import { migrate } from './migrate.js'
import { openOperations } from './operations-backend.js'
import { openRedis } from './redis.js'
import { seed } from './seed.js'
import { readSettings, type Settings } from './settings.js'

/**
 * Runs the service as this process: opens what the environment names, hands the app to `begin`, and closes all in the
 * opposite order when the process is told to end. What cannot be opened is one line, and exit code 1.
 *
 * @param begin lets the app do what this process is for
 */
export async function runProcess(
  begin: (app: FastifyInstance, settings: Settings) => Promise<void>,
): Promise<void> {
  const opened: (() => unknown)[] = []
  async function close(): Promise<void> {
    for (const closeOne of opened.splice(0).reverse()) await closeOne()
  }
  try {
    const settings = readSettings(process.env)
    const app = await open(settings, opened)
    // Once: a second signal ends the process at once.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, close)
    await begin(app, settings)
  } catch (error) {
    complain(messageOf(error))
    await close().catch((another: unknown) => complain(messageOf(another)))
    process.exit(1)
  }
}

async function open(settings: Settings, opened: (() => unknown)[]): Promise<FastifyInstance> {
  const redis = settings.redisUrl === null ? null : await openRedis(settings.redisUrl, complain)
  if (redis !== null) opened.push(() => (redis as Redis).disconnect())
  const database = await openDatabase(settings.storage)
  opened.push(() => database.close())
  await migrate(database)
  await seed(database)
  const operations = await openOperations(settings, redis, complain)
  opened.push(() => operations.close())
  const { logLevel, maintenanceFile, corsOrigins, rateLimitMax, pace } = settings
  const app = await buildApp({
    database,
    redis,
    logger: { level: logLevel },
    maintenanceFile,
    corsOrigins,
    rateLimitMax,
    operations: operations.options,
    pace,
  })
  opened.push(() => app.close())
  return app
}

function openDatabase(storage: Settings['storage']): Promise<Database> {
  if (storage === null) return openEmbeddedDatabase()
  if ('folder' in storage) return openEmbeddedDatabase(storage.folder)
  return openServerDatabase(storage.url, (error) => complain(messageOf(error)))
}

function complain(message: string): void {
  console.error(`demo server: ${message}`)
}
