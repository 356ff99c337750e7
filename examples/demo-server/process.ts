import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { buildApp } from './app.js'
import { audienceOf, type ClientSecrets, clientSecrets, devIssuerOptions } from './authorization.js'
import { complain } from './complain.js'
import type { Database } from './database.js'
import { openEmbeddedDatabase } from './database-embedded.js'
import { openServerDatabase } from './database-server.js'
import { migrate } from './migrations.js'
import { openOperations } from './operations-backend.js'
import { choosePlace, type Place } from './origin.js'
import { openRedis } from './redis.js'
import { seed } from './seed.js'
import { readSettings, type Settings } from './settings.js'
import { openCertificate } from './tls.js'

const oneHour = 3_600_000
/** How long the process may take to end, in milliseconds. Operations may run for five seconds more. */
export const closeTimeout = 30_000

// What cannot be opened is one line, and exit code 1.
export async function runProcess(
  begin: (app: FastifyInstance, settings: Settings, place: Place, secrets: ClientSecrets) => Promise<void>,
): Promise<void> {
  const opened: (() => unknown)[] = []
  async function close(): Promise<void> {
    for (const closeOne of opened.splice(0).reverse()) await closeOne()
  }
  try {
    const settings = readSettings(process.env)
    const place = await choosePlace(settings)
    const secrets = clientSecrets(settings.host)
    const app = await open(settings, place, secrets, opened)
    closeWithGrace({ delay: closeTimeout, logger: { error: complain } }, async ({ err }) => {
      if (err !== undefined) complain(err)
      await close()
    })
    await begin(app, settings, place, secrets)
  } catch (error) {
    complain(error)
    await close().catch(complain)
    process.exit(1)
  }
}

async function open(
  settings: Settings,
  { origin }: Place,
  secrets: ClientSecrets,
  opened: (() => unknown)[],
): Promise<FastifyInstance> {
  const certificate = await openCertificate(settings)
  const redis = settings.redisUrl === null ? null : await openRedis(settings.redisUrl)
  if (redis !== null) opened.push(() => (redis as Redis).disconnect())
  const database = await openDatabase(settings.databaseUrl)
  opened.push(() => database.destroy())
  const operations = await openOperations(settings, redis)
  opened.push(() => operations.close())
  const { logLevel, maintenanceFile, corsOrigins, rateLimitMax, trustProxy, pace, issuerAddress } = settings
  const issuerFetch = issuerAddress === null ? {} : { fetch: fetchAt(issuerAddress) }
  const devIssuer = settings.authorization === null ? devIssuerOptions(secrets, database) : null
  const issuer = settings.authorization ?? { issuer: origin, audience: audienceOf(origin) }
  const app = await buildApp({
    database,
    redis,
    logger: { level: logLevel },
    certificate,
    bearer: { ...issuer, ...issuerFetch },
    devIssuer,
    sessions:
      settings.clientId === null
        ? null
        : { clientId: settings.clientId, secret: settings.sessionSecret, ...issuerFetch },
    trustProxy,
    maintenanceFile,
    corsOrigins,
    rateLimitMax,
    operations: operations.options,
    pace,
  })
  opened.push(() => app.close())
  return app
}

/** Returns a `fetch` that sends each request to another origin: the issuer's URL is the one that browsers reach it by. */
function fetchAt(address: string) {
  return (url: string | URL | Request, request?: object): Promise<Response> => {
    const { pathname, search } = new URL(url instanceof Request ? url.url : url)
    return fetch(address + pathname + search, request)
  }
}

async function openDatabase(url: string | null): Promise<Database> {
  if (url !== null) {
    // Its statements may take longer than a request waits.
    const first = await openServerDatabase(url, oneHour)
    await prepare(first).finally(() => first.destroy())
    return openServerDatabase(url)
  }
  const database = await openEmbeddedDatabase()
  await prepare(database)
  return database
}

async function prepare(database: Database): Promise<void> {
  await migrate(database)
  await seed(database)
}
