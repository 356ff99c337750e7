import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, PostgresConnection, runMigrations } from 'bullmq'
import type { PostgresPlace } from './options.js'
import { postgresConnection } from './queue-backend.js'

/**
 * Finds out whether BullMQ can work in a PostgreSQL database, over a connection of its own that is closed again.
 *
 * @throws Error that says what to do
 */
export async function checkPostgresSchema({ postgres, migrate }: PostgresPlace): Promise<void> {
  const connection = new PostgresConnection(postgresConnection(postgres))
  // A connection that breaks while it idles; what is asked over it rejects by itself.
  connection.on('error', () => {})
  try {
    const { pool, schema } = connection
    if (migrate) await migrateOver(connection)
    const version = await versionOf(connection)
    if (version < LATEST_SCHEMA_VERSION) {
      throw new Error(
        version === 0
          ? `there is no BullMQ in the PostgreSQL schema '${schema}': ${remedy(schema)}`
          : `the BullMQ in the PostgreSQL schema '${schema}' is of version ${version}, and this release works with version ${LATEST_SCHEMA_VERSION}: ${remedy(schema)}`,
      )
    }
    const { rows } = await pool.query<{ found: boolean }>(
      "select to_regclass('migration') is not distinct from to_regclass($1) as found",
      [`"${schema}".migration`],
    )
    if (rows[0]?.found !== true) {
      throw new Error(
        `the pool does not look into the PostgreSQL schema '${schema}': make it with options: '-c search_path=${schema}'`,
      )
    }
  } finally {
    await connection.close()
  }
}

async function migrateOver({ pool, schema }: PostgresConnection): Promise<void> {
  const client = await pool.connect()
  try {
    await runMigrations(client, schema)
  } finally {
    client.release()
  }
}

/** Of what is installed; 0 where nothing is. */
async function versionOf({ pool, schema }: PostgresConnection): Promise<number> {
  try {
    return await assertSchemaCompatibility(pool, schema)
  } catch (error) {
    if (error instanceof Error && error.name === 'SchemaMigrationRequiredError') return 0
    throw error
  }
}

function remedy(schema: string): string {
  return `start once with \`migrate: true\`, or run runMigrations(client, '${schema}') of bullmq`
}
