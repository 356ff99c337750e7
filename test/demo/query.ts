import { CompiledQuery } from 'kysely'
import type { Queries } from '../../examples/demo-server/database.js'

/** A statement, and the values of its `$1`, `$2`, …. */
export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Runs a statement, and returns its rows. */
export async function query(
  queries: Queries,
  { text, values = [] }: Statement,
): Promise<Record<string, unknown>[]> {
  const { rows } = await queries.executeQuery(CompiledQuery.raw(text, [...values]))
  return rows as Record<string, unknown>[]
}
