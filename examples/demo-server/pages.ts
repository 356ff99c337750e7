import type { FastifyRequest } from 'fastify'
import type { Page } from 'fastify-conventions'
import type { SelectQueryBuilder } from 'kysely'
import type { Tables } from './tables.js'

/** Returns the columns of an item: those that the request selects with `fields`, and those that are needed all the same. */
export function columnsOf<Item extends object>(
  item: { readonly properties: Item },
  { fields }: Pick<FastifyRequest, 'fields'>,
  needed: readonly (keyof Item)[] = [],
): (keyof Item & string)[] {
  const names = fields?.names ?? null
  const columns = Object.keys(item.properties) as (keyof Item & string)[]
  return columns.filter((name) => names === null || names.includes(name) || needed.includes(name))
}

/** Returns the columns of the items of a page: the next page and `Last-Modified` need some that are not selected. */
export function listColumnsOf<Item extends { readonly id: unknown; readonly created_at: unknown }>(
  item: { readonly properties: Item },
  request: Pick<FastifyRequest, 'fields' | 'page'>,
): (keyof Item & string)[] {
  const cursor =
    request.page.beforeTime === undefined ? ['id', 'updated_at'] : ['id', 'created_at', 'updated_at']
  return columnsOf(item, request, cursor as (keyof Item)[])
}

/**
 * Returns the query of one page, in the order of its walk: newest first by id or by time or, after an id, oldest first. It
 * reads one row more than the page has, which shows whether there is a next page.
 */
export function onePage<Query>(query: Query, { fetch, by, afterId, beforeId, beforeTime }: Page): Query {
  // All collections have these columns, so that one stands for all.
  const page = (query as SelectQueryBuilder<Tables, 'friends', object>).limit(fetch)
  return ordered() as Query

  function ordered() {
    if (afterId !== undefined) return page.where('id', '>', afterId).orderBy('id', 'asc')
    if (by === 'id') {
      const newest = page.orderBy('id', 'desc')
      return beforeId === undefined ? newest : newest.where('id', '<', beforeId)
    }
    const newest = page.orderBy('created_at', 'desc').orderBy('id', 'desc')
    if (beforeTime === undefined) return newest
    if (beforeId === undefined) return newest.where('created_at', '<', beforeTime)
    return newest.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '<', tuple(beforeTime, beforeId)),
    )
  }
}

/** Returns the filters of a list that a request gives. */
export function given<Query extends object, Name extends keyof Query>(
  query: Query,
  names: readonly Name[],
): { [name in Name]?: Exclude<Query[name], undefined> } {
  const filters = names.filter((name) => query[name] !== undefined).map((name) => [name, query[name]])
  return Object.fromEntries(filters)
}
