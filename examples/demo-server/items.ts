import type { FastifyRequest } from 'fastify'
import { keyset, ProblemError, type RouteValidators } from 'fastify-conventions'
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { type Called, ownerOf } from './caller.js'
import type { Queries, Tables } from './database.js'

export type RequestById = FastifyRequest<{ readonly Params: { readonly id: bigint } }>

export interface ItemRequest
  extends Pick<FastifyRequest, 'caller' | 'expectedVersion' | 'headers' | 'routeOptions' | 'server'> {
  readonly params: { readonly id: bigint }
}

/** Members by name, as a body or a row has them. */
export type Values = Readonly<Record<string, unknown>>

/** Returns the problem of a request for an item that does not exist, or that belongs to another user. */
export function notFound(item: string, id: bigint): ProblemError {
  return new ProblemError('not-found', { detail: `there is no ${item} ${id}` })
}

// Reading

/** Returns the condition of items that the caller sees: users see their own, and admins see all. */
export function isVisible(request: Called, isOwn = (user: bigint) => sql<boolean>`user_id = ${user}`) {
  const owner = ownerOf(request)
  return owner === 'all' ? sql<boolean>`true` : isOwn(owner)
}

/** Returns the columns of an item: those that the request selects with `fields`, and those that are needed all the same. */
export function columnsOf(
  item: { readonly properties: object },
  { fields }: Pick<FastifyRequest, 'fields'>,
  needed: readonly string[] = [],
) {
  // All collections have the columns of one, and some have more.
  const columns = Object.keys(item.properties) as (keyof Tables['friends'])[]
  const names = fields?.names ?? null
  return columns.filter((name) => names === null || names.includes(name) || needed.includes(name))
}

/** Reads one page of the items that a query finds, and counts them all if the client asks for `total`. */
export async function readPage(
  found: SelectQueryBuilder<Tables, 'friends', object>,
  item: { readonly properties: object },
  { fields, page }: Pick<FastifyRequest, 'fields' | 'page'>,
) {
  // The link to the next page and `Last-Modified` need columns that the client need not have selected.
  const cursor = page.beforeTime === undefined ? ['id', 'updated_at'] : ['id', 'created_at', 'updated_at']
  const { where, orderBy } = keyset(page, { sql: sql<SqlBool> })
  const columns = columnsOf(item, { fields }, cursor)
  const rows = await found.select(columns).where(where).orderBy(orderBy).limit(page.fetch).execute()
  if (!page.includeTotal) return { rows }
  const { total } = await found
    .select(({ fn }) => fn.countAll<bigint>().as('total'))
    .executeTakeFirstOrThrow()
  return { rows, total }
}

// Writing

/** Returns what preconditions compare: `updated_at` moves on with each write, so it names the version of a row. */
export function validatorsOf({ updated_at }: { readonly updated_at: string }): RouteValidators {
  return { version: updated_at, lastModified: new Date(updated_at) }
}

/** The next `updated_at` of a row: it moves on even where the clock has not. */
export const nextVersion = sql<string>`greatest(date_trunc('milliseconds', now()), updated_at + interval '1 ms')`

/** Returns the condition that a row is the one for which the preconditions were evaluated. */
export function isExpected({ expectedVersion: expected }: Pick<FastifyRequest, 'expectedVersion'>) {
  return expected === undefined ? sql<boolean>`true` : sql<boolean>`updated_at = ${expected}`
}

// Another request may have changed it since the preconditions were evaluated.
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

// Only an admin makes items by PUT, with `If-None-Match: *`: users who chose ids would learn which are in use.
export async function expectNewId(
  queries: Queries,
  table: keyof Tables & `${string}s`,
  request: ItemRequest,
): Promise<void> {
  const { id } = request.params
  if (request.headers['if-none-match'] !== '*' || ownerOf(request) !== 'all')
    throw notFound(table.slice(0, -1), id)
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
