import { buildApp } from './app.js'
import type { Database } from './database.js'
import { openEmbeddedDatabase } from './database-embedded.js'
import { openServerDatabase } from './database-server.js'
import { migrate } from './migrate.js'
import { firstId } from './migrations.js'
import { seed } from './seed.js'
import { readSettings, type Settings } from './settings.js'

try {
  await start(readSettings(process.env))
} catch (error) {
  console.error(`demo server: ${messageOf(error)}`)
  process.exit(1)
}

async function start(settings: Settings): Promise<void> {
  const database = await openDatabase(settings.storage)
  try {
    await serve(settings, database)
  } catch (error) {
    await database.close()
    throw error
  }
}

async function serve(settings: Settings, database: Database): Promise<void> {
  await migrate(database)
  await seed(database)
  const { logLevel, maintenanceFile, rateLimitMax } = settings
  const app = await buildApp({ database, logger: { level: logLevel }, maintenanceFile, rateLimitMax })

  async function stop(): Promise<void> {
    await app.close()
    await database.close()
  }
  // Once: a second signal ends the process at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

  const origin = await app.listen({ host: settings.host, port: settings.port })
  console.log(welcome(origin))
}

function openDatabase(storage: Settings['storage']): Promise<Database> {
  if (storage === null) return openEmbeddedDatabase()
  if ('folder' in storage) return openEmbeddedDatabase(storage.folder)
  return openServerDatabase(storage.url, (error) => console.error(`demo server: ${messageOf(error)}`))
}

function welcome(origin: string): string {
  return `
The demo listens on ${origin}. Its API is described at ${origin}/docs. Try:

  curl -i '${origin}/v1/users?limit=2&fields=id,name,email'
  curl -i '${origin}/v1/payments?status=failed'
  curl -i -X PATCH '${origin}/v1/users/${firstId}' -H 'content-type: application/merge-patch+json' -d '{"age": 37}'
`
}

/** One line; connection errors of several addresses have their text in the parts. */
function messageOf(error: unknown): string {
  const parts = error instanceof AggregateError ? error.errors : [error]
  const texts = parts.map((part: unknown) => (part instanceof Error ? part.message : String(part)))
  return texts.join('; ').replace(/\s*\n\s*/g, ' ')
}
