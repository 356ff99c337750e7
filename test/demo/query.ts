import { CompiledQuery } from 'kysely'
import type { Queries } from '../../examples/demo-server/database.js'

/** Runs a statement with the values of its `$1`, `$2`, …, and returns its rows. */
export async function query(queries: Queries, text: string, values: readonly unknown[] = []) {
  const { rows } = await queries.executeQuery(CompiledQuery.raw(text, [...values]))
  return rows as Record<string, unknown>[]
}
