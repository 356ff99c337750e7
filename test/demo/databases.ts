import t from 'tap'
import type { Database } from '../../examples/demo-server/database.js'
import { openEmbeddedDatabase } from '../../examples/demo-server/database-embedded.js'
import { openServerDatabase } from '../../examples/demo-server/database-server.js'
import { type PrivatePostgres, startPostgres } from '../support/postgres.js'

let embedded: Promise<Database> | undefined
let server: Promise<PrivatePostgres> | undefined
let databases = 0

/**
 * An embedded database with nothing in it. It takes seconds to start, so the tests of a process have the same, one after
 * the other: each call empties it, and it is closed when all of them have ended.
 */
export async function emptyEmbeddedDatabase(): Promise<Database> {
  if (embedded === undefined) {
    embedded = openEmbeddedDatabase()
    t.teardown(async () => (await embedded)?.close())
  }
  const database = await embedded
  await database.query({ text: 'drop schema public cascade' })
  await database.query({ text: 'create schema public' })
  return { ...database, close: async () => {} }
}

/** A database of its own with nothing in it, on the PostgreSQL server of the process. Whoever calls closes it. */
export async function emptyServerDatabase(): Promise<Database> {
  if (server === undefined) {
    server = startPostgres()
    t.teardown(async () => (await server)?.stop())
  }
  const { url } = await server
  const name = `suite_${++databases}`
  const first = await openServerDatabase(url)
  await first.query({ text: `create database ${name}` })
  await first.close()
  return openServerDatabase(url.replace(/\/postgres$/, `/${name}`))
}
