import type { Database } from '../../examples/demo-server/database.js'
import { openEmbeddedDatabase } from '../../examples/demo-server/database-embedded.js'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { type PrivatePostgres, startPostgres } from '../support/postgres.js'

let embedded: Promise<Database> | undefined
let server: Promise<PrivatePostgres> | undefined
let databases = 0

/**
 * An embedded database with nothing in it. It takes seconds to start, so the tests of a process have the same, one after
 * the other: each call empties it.
 */
export async function emptyEmbeddedDatabase(): Promise<Database> {
  embedded ??= openEmbeddedDatabase()
  const database = await embedded
  await database.query({ text: 'drop schema public cascade' })
  await database.query({ text: 'create schema public' })
  return { ...database, close: async () => {} }
}

/**
 * A database of its own with nothing in it, on a PostgreSQL server that ends with the process. (A teardown of tap's root
 * would end the root as soon as it waits.) Whoever calls closes it.
 */
export async function emptyServerDatabase(): Promise<Database> {
  server ??= startServer()
  const { url } = await server
  const name = `suite_${++databases}`
  const first = await openServerDatabase(url)
  await first.query({ text: `create database ${name}` })
  await first.close()
  return openServerDatabase(url.replace(/\/postgres$/, `/${name}`))
}

async function startServer(): Promise<PrivatePostgres> {
  const started = await startPostgres()
  started.unref()
  return started
}
