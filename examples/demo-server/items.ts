import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { type Page, ProblemError, type RouteValidators } from 'fastify-conventions'
import { type SelectQueryBuilder, sql } from 'kysely'
import { ownerOf } from './caller.js'
import type { Queries, Tables } from './database.js'

/** A request for an item. */
export type RequestById = FastifyRequest<{ readonly Params: { readonly id: bigint } }>

/** What is read of it, on whichever route. */
export interface ItemRequest<Body = unknown>
  extends Pick<FastifyRequest, 'caller' | 'expectedVersion' | 'headers'> {
  readonly params: { readonly id: bigint }
  readonly body: Body
}

/** Returns the condition of items that the caller sees: users see their own, and admins see all. */
export function isVisible(request: Pick<FastifyRequest, 'caller'>, owned = 'user_id') {
  const owner = ownerOf(request)
  return owner === 'all' ? sql<boolean>`true` : sql<boolean>`${sql.ref(owned)} = ${owner}`
}

/** Returns the problem of a request for an item that does not exist, or that belongs to another user. */
export function notFound(item: string, id: bigint): ProblemError {
  return new ProblemError('not-found', { detail: `there is no ${item} ${id}` })
}

// Reading

/** Returns the columns of an item: those that the request selects with `fields`, and those that are needed all the same. */
export function columnsOf<Item extends object>(
  item: { readonly properties: Item },
  { fields }: Pick<FastifyRequest, 'fields'>,
  needed: readonly string[] = [],
): (keyof Item & string)[] {
  const columns = Object.keys(item.properties) as (keyof Item & string)[]
  const names = fields?.names ?? null
  return columns.filter((name) => names === null || names.includes(name) || needed.includes(name))
}

/** Returns the filters of a list that a query has, beside the parameters of its page. */
export function given<Query extends object, Name extends keyof Query>(
  query: Query,
  filters: { readonly properties: Readonly<Record<Name, unknown>> },
): { [name in Name]?: Exclude<Query[name], undefined> } {
  const isGiven = ([name, value]: [string, unknown]) => name in filters.properties && value !== undefined
  return Object.fromEntries(Object.entries(query).filter(isGiven)) as ReturnType<typeof given<Query, Name>>
}

/** Reads one page of the items that a query finds, and counts them all if the client asks for `total`. */
export async function readPage<Table extends keyof Tables>(
  query: SelectQueryBuilder<Tables, Table, object>,
  item: { readonly properties: object },
  { fields, page }: Pick<FastifyRequest, 'fields' | 'page'>,
) {
  // All collections have these columns, so that one stands for all.
  const found = query as unknown as SelectQueryBuilder<Tables, 'friends', object>
  // The link to the next page and `Last-Modified` need columns that the client need not have selected.
  const cursor = page.beforeTime === undefined ? ['id', 'updated_at'] : ['id', 'created_at', 'updated_at']
  const columns = columnsOf(item, { fields }, cursor) as (keyof Tables['friends'])[]
  const rows = await onePage(found.select(columns), page as Page).execute()
  if (!page.includeTotal) return { rows }
  const { total } = await found
    .select(({ fn }) => fn.countAll<bigint>().as('total'))
    .executeTakeFirstOrThrow()
  return { rows, total }
}

/** The order of a page: newest first by id or by time or, after an id, oldest first. */
function onePage<Row>(
  query: SelectQueryBuilder<Tables, 'friends', Row>,
  { fetch, by, afterId, beforeId, beforeTime }: Page,
) {
  const page = query.limit(fetch)
  if (afterId !== undefined) return page.where('id', '>', afterId).orderBy('id', 'asc')
  const newest = by === 'id' ? page : page.orderBy('created_at', 'desc')
  const before = newest.orderBy('id', 'desc')
  if (beforeTime === undefined) return beforeId === undefined ? before : before.where('id', '<', beforeId)
  if (beforeId === undefined) return before.where('created_at', '<', beforeTime)
  return before.where(({ eb, refTuple, tuple }) =>
    eb(refTuple('created_at', 'id'), '<', tuple(beforeTime, beforeId)),
  )
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

/**
 * Refuses a `PUT` that may not make the item that it names. An admin's may, with `If-None-Match: *`: any other precondition is
 * about an item that is gone, and users who chose ids would learn which are in use.
 *
 * @throws ProblemError 404 `not-found`; 422 `id-not-given-out` for an id that a later POST would give out
 */
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

/**
 * Returns the members of a body that may be written. The others are read-only: a body may repeat their values.
 *
 * @param row the item as it is; of one that is yet to be made, its id alone
 * @throws ProblemError 400 `validation` if a read-only member has another value
 */
export function writableOf<Body extends object, Name extends keyof Body & string>(
  body: Body,
  row: object,
  writable: { readonly properties: Readonly<Record<Name, unknown>> },
): Pick<Body, Name> {
  const changed = Object.keys(changesOf(body, row)).filter((name) => !(name in writable.properties))
  if (changed.length > 0) {
    throw new ProblemError('validation', {
      detail: `${changed.join(', ')}: read-only, so its value can only be repeated`,
      errors: changed.map((name) => ({
        in: 'body',
        pointer: `/${name}`,
        message: 'is read-only: leave it out, or send the value that it has',
      })),
    })
  }
  const members = Object.entries(body).filter(([name]) => name in writable.properties)
  return Object.fromEntries(members) as Pick<Body, Name>
}

/** Returns the members whose values differ from those of a row. */
export function changesOf<Values extends object>(values: Values, row: object): Partial<Values> {
  const differs = ([name, value]: [string, unknown]) =>
    !isDeepStrictEqual(comparable(name, value), comparable(name, (row as Record<string, unknown>)[name]))
  return Object.fromEntries(Object.entries(values).filter(differs)) as Partial<Values>
}

/** One time can be written in several ways, and an amount is a BigInt in a row. */
function comparable(name: string, value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  return name.endsWith('_at') && typeof value === 'string' ? Date.parse(value) : value
}

/** Refuses to end a status that stays. */
export function refuseToLeave(
  final: string,
  item: string,
  { id, status }: { readonly id: bigint; readonly status: string },
  changes: { readonly status?: string },
): void {
  if (status !== final || changes.status === undefined) return
  throw new ProblemError('status-final', {
    status: 409,
    detail: `the ${item} ${id} is ${status}, and stays so`,
  })
}
