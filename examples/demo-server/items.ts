import type { FastifyRequest } from 'fastify'
import { ProblemError, type RouteValidators } from 'fastify-conventions'
import { sql } from 'kysely'
import type { Queries } from './database.js'

/** What the route of an item gives TypeScript. */
export interface ById {
  readonly Params: { readonly id: bigint }
}

/** What is read of a request for an item, on whichever route. */
export interface ItemRequest<Body = unknown> extends Pick<FastifyRequest, 'caller' | 'expectedVersion'> {
  readonly params: { readonly id: bigint }
  readonly body: Body
}

/** Returns what preconditions compare: `updated_at` moves on with each write, so it names the version of a row. */
export function validatorsOf({ updated_at }: { readonly updated_at: string }): RouteValidators {
  return { version: updated_at, lastModified: new Date(updated_at) }
}

/** The next `updated_at` of a row: it moves on even where the clock has not. */
export const nextVersion = sql<string>`greatest(date_trunc('milliseconds', now()), updated_at + interval '1 ms')`

/** Returns the problem of a request for an item that does not exist, or that belongs to another user. */
export function notFound(item: string, id: bigint): ProblemError {
  return new ProblemError('not-found', { detail: `there is no ${item} ${id}` })
}

/**
 * Refuses to write an item that is not the one for which the preconditions were evaluated: another request changed it since.
 *
 * @throws ProblemError 404 `not-found` if there is none, 412 `precondition-failed`
 */
export function expectItem<Row extends { readonly updated_at: string }>(
  item: string,
  { params: { id }, expectedVersion: expected }: ItemRequest,
  row: Row | undefined,
): Row {
  if (row !== undefined && (expected === undefined || row.updated_at === expected)) return row
  if (expected === undefined || expected === null) throw notFound(item, id)
  throw new ProblemError('precondition-failed', {
    detail: `the ${item} ${id} has changed: read it again`,
  })
}

/** Returns the condition that a row is the one for which the preconditions were evaluated. */
export function isExpected({ expectedVersion: expected }: Pick<FastifyRequest, 'expectedVersion'>) {
  return expected === undefined ? sql<boolean>`true` : sql<boolean>`updated_at = ${expected}`
}

/**
 * Refuses an id for a new item that a later POST would give out.
 *
 * @throws ProblemError 422 `id-not-given-out`
 */
export async function refuseFutureId(queries: Queries, table: string, id: bigint): Promise<void> {
  const { rows } = await sql<{ readonly given_out: boolean }>`
    select last_value > ${id} or (last_value = ${id} and is_called) as given_out from ${sql.table(`${table}_id_seq`)}
  `.execute(queries)
  if (rows[0]?.given_out === true) return
  throw new ProblemError('id-not-given-out', {
    status: 422,
    detail: `the id ${id} is one that a later POST will give out`,
    errors: [{ in: 'path', name: 'id', message: 'is yet to be given out' }],
  })
}
