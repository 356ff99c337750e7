import { isObject } from '../../../options.js'
import type { PostgresPool } from '../../../stores/postgres-connection.js'

/** The table of a PostgreSQL store, and the statements on it. */
export interface OperationTable {
  /** Creates the table and its indexes in one transaction, if they are missing. */
  readonly migration: string
  readonly create: string
  readonly get: string
  readonly replace: string
  readonly remove: string
  readonly due: string
  readonly expire: string
  /** Makes unreadable rows no longer due, so that they do not block the others. */
  readonly setAside: string
  /** Returns the fault of the table in the database; `null` if there is none. */
  fault(pool: PostgresPool): Promise<string | null>
}

/**
 * Returns the statements for a table of the form of this release.
 *
 * @param table its name, with or without that of its schema; it needs quotes only for uppercase letters
 */
export function operationTable(table: string): OperationTable {
  const names = table.split('.')
  const quoted = names.map((name) => `"${name}"`).join('.')
  const name = names.at(-1)
  const [dueIndex, finalIndex] = [`${name}_due`, `${name}_final`]
  const columns = {
    // Compared by bytes: the order is the same everywhere, and does not depend on a collation of the database.
    id: 'text COLLATE "C" PRIMARY KEY',
    version: 'bigint NOT NULL',
    form: 'integer NOT NULL',
    is_final: 'boolean NOT NULL',
    due_at: 'bigint',
    // As text: jsonb refuses \u0000, and keeps neither all digits nor the order of members.
    document: 'text NOT NULL',
  }
  const expected = [
    ...Object.entries(columns).map(([column, type]) => `column ${column} ${type.replace(/ .*/, '')}`),
    ...[`${name}_pkey`, dueIndex, finalIndex].map((index) => `index ${index}`),
    ...['SELECT', 'INSERT', 'UPDATE', 'DELETE'].map((right) => `right to ${right}`),
  ]

  return {
    migration: `SELECT pg_advisory_xact_lock(hashtext('fastify-conventions'), hashtext('${quoted}'));
CREATE TABLE IF NOT EXISTS ${quoted} (
${Object.entries(columns)
  .map(([column, type]) => `  ${column} ${type}`)
  .join(',\n')}
);
CREATE INDEX IF NOT EXISTS "${dueIndex}" ON ${quoted} (due_at, id) WHERE NOT is_final;
CREATE INDEX IF NOT EXISTS "${finalIndex}" ON ${quoted} (due_at, id) WHERE is_final;
`,
    create: `INSERT INTO ${quoted} (id, version, form, is_final, due_at, document)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
    get: `SELECT document FROM ${quoted} WHERE id = $1`,
    replace: `UPDATE ${quoted} SET version = $2, form = $3, is_final = $4, due_at = $5, document = $6
WHERE id = $1 AND version = $2::bigint - 1`,
    remove: `DELETE FROM ${quoted} WHERE id = $1 AND version = $2`,
    due: `SELECT id, document FROM ${quoted} WHERE NOT is_final AND due_at <= $1 AND form = $3
ORDER BY due_at, id LIMIT $2`,
    // The list is made once, so that the limit holds; rows that another sweep is at are left to it.
    expire: `DELETE FROM ${quoted} WHERE id = ANY (ARRAY(
SELECT id FROM ${quoted} WHERE is_final AND due_at <= $1 ORDER BY due_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    setAside: `UPDATE ${quoted} SET due_at = NULL WHERE id = ANY ($1) AND document = ANY ($2)`,
    async fault(pool) {
      const { rows } = await pool.query(whatIsThere, [quoted])
      const found = new Set(rows.map((row) => (isObject(row) ? row.fact : undefined)))
      if (found.size === 0) return `there is no table ${quoted}`
      const missing = expected.filter((fact) => !found.has(fact))
      return missing.length === 0 ? null : `the table ${quoted} lacks: ${missing.join(', ')}`
    },
  }
}

const whatIsThere = `WITH it AS (SELECT to_regclass($1)::oid AS id)
SELECT concat('column ', attname, ' ', format_type(atttypid, atttypmod)) AS fact
FROM it JOIN pg_attribute ON attrelid = it.id WHERE attnum > 0 AND NOT attisdropped
UNION ALL SELECT concat('index ', relname)
FROM it JOIN pg_index ON indrelid = it.id JOIN pg_class ON oid = indexrelid WHERE indisvalid
UNION ALL SELECT concat('right to ', name)
FROM it, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS name WHERE has_table_privilege(it.id, name)`
