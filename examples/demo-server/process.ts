import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import { type AppOptions, buildApp } from './app.js'
import { type ClientSecrets, clientSecrets } from './authorization/clients.js'
import { complain } from './complain.js'
import type { Database } from './database.js'
import { openEmbeddedDatabase } from './database-embedded.js'
import { openServerDatabase } from './database-server.js'
import { migrate } from './migrations.js'
import { openOperations } from './operations-backend.js'
import { choosePlace, type Place } from './origin.js'
import { openRedis } from './redis.js'
import { seed } from './seed.js'
import { audienceOf, readSettings, type Settings } from './settings.js'
import { openCertificate } from './tls.js'

const oneHour = 3_600_000
/** How long the process may take to end, in milliseconds. Operations may run for five seconds more. */
export const closeTimeout = 30_000

/**
 * Runs the service as this process: opens what the environment names, hands the app to `begin`, and closes all in the
 * opposite order when the process is told to end. What cannot be opened is one line, and exit code 1.
 *
 * @param begin lets the app do what this process is for
 */
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
  const database = await openDatabase(settings.storage)
  opened.push(() => database.destroy())
  const operations = await openOperations(settings, redis)
  opened.push(() => operations.close())
  const { logLevel, maintenanceFile, corsOrigins, rateLimitMax, trustProxy, pace, issuerAddress } = settings
  const issuerFetch = issuerAddress === null ? {} : { fetch: fetchAt(issuerAddress) }
  const authorization =
    settings.authorization === null
      ? await embedAuthorization(origin, secrets, database)
      : { bearer: { ...settings.authorization, ...issuerFetch } }
  const app = await buildApp({
    database,
    redis,
    logger: { level: logLevel },
    certificate,
    ...authorization,
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

/** Loaded only where it is used: a service with another issuer does not need it. */
async function embedAuthorization(
  origin: string,
  secrets: ClientSecrets,
  database: Database,
): Promise<Pick<AppOptions, 'authorizationServer' | 'bearer'>> {
  const { createAuthorizationServer } = await import('./authorization/server.js')
  const audience = audienceOf(origin)
  const server = await createAuthorizationServer({ issuer: origin, audience, secrets, database })
  return { authorizationServer: server, bearer: server.bearer }
}

/** Opens the database, which is up to date then and has data. */
async function openDatabase(storage: Settings['storage']): Promise<Database> {
  if (storage !== null && 'url' in storage) {
    // Its statements may take longer than a request waits.
    const first = await openServerDatabase(storage.url, oneHour)
    await prepare(first).finally(() => first.destroy())
    return openServerDatabase(storage.url)
  }
  const database = await openEmbeddedDatabase(storage?.folder)
  await prepare(database)
  return database
}

async function prepare(database: Database): Promise<void> {
  await migrate(database)
  await seed(database)
}
