import {
  assertSchemaCompatibility,
  type IRedisClient,
  LATEST_SCHEMA_VERSION,
  PostgresConnection,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq'
import { postgresConnection } from './backends.js'
import type { PostgresPlace } from './options.js'

/** Result of {@link checkRedis}. */
export interface RedisServer {
  /** Whether BullMQ writes a warning about the server to the console with each connection. */
  readonly isWarnedOf: boolean
}

/**
 * Checks version and eviction policy of a Redis server.
 *
 * @throws Error that names the remedy if BullMQ does not work with the server, or if the server may evict jobs
 */
export async function checkRedis(client: Pick<IRedisClient, 'info'>): Promise<RedisServer> {
  const info = await client.info().catch(() => null)
  // The account may lack the right to INFO.
  if (info === null) return { isWarnedOf: true }
  const policy = fieldOf(info, 'maxmemory_policy')
  if (policy?.startsWith('allkeys-')) {
    throw new Error(
      `Redis throws operations away when its memory is full: set maxmemory-policy to noeviction; it is ${policy}`,
    )
  }
  const version = fieldOf(info, 'redis_version')
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  if (version !== undefined && major < 5) throw new Error(`BullMQ needs Redis 5 or later; it is ${version}`)
  return { isWarnedOf: policy !== 'noeviction' || major < 6 || (major === 6 && minor < 2) }
}

function fieldOf(info: string, name: string): string | undefined {
  return info
    .split(/\r?\n/)
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
}

/**
 * Checks whether BullMQ can use a PostgreSQL database, over a separate connection, which it closes.
 *
 * @throws Error that says what to do
 */
export async function checkPostgresSchema({ postgres, migrate }: PostgresPlace): Promise<void> {
  const connection = new PostgresConnection(postgresConnection(postgres))
  // For an idle connection that fails; the queries on it reject themselves.
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

/** Returns the installed version; 0 if there is none. */
async function versionOf({ pool, schema }: PostgresConnection): Promise<number> {
  try {
    return await assertSchemaCompatibility(pool, schema)
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return 0
    throw error
  }
}

function remedy(schema: string): string {
  return `start once with \`migrate: true\`, or run runMigrations(client, '${schema}') of bullmq`
}
