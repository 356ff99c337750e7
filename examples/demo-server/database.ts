import {
  CompiledQuery,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type Transaction,
} from 'kysely'
import { problemOfConstraint } from './constraint-problems.js'
import type { Tables } from './tables.js'

/** A PostgreSQL database, embedded or on a server. */
export type Database = Kysely<Tables>

/** A transaction, or the database itself where a statement needs none. */
export type Queries = Database | Transaction<Tables>

/** Returns the database of a pool. A write that a constraint refuses rejects with the problem that the client gets. */
export function databaseOf(pool: PostgresPool): Database {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: { connect: async () => withProblems(await pool.connect()), end: () => pool.end() },
    }),
  })
}

/** Returns what runs the statements of a store of the conventions: in a transaction, they are part of it. */
export function connectionOf(queries: Queries) {
  return {
    query: (text: string, values: readonly unknown[] = []) =>
      queries.executeQuery(CompiledQuery.raw(text, [...values])),
  }
}

function withProblems(client: PostgresPoolClient): PostgresPoolClient {
  return {
    query: (text: string, values: readonly unknown[]) =>
      client.query(text, values).catch((error: unknown) => {
        throw problemOfConstraint(error) ?? error
      }),
    release: () => client.release(),
  } as PostgresPoolClient
}
