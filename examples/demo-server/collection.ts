import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { changesOf, ProblemError, type RouteValidators } from 'fastify-conventions'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type Called, refuseForeign, refuseReserved } from './caller.js'
import { connectionOf, type Queries, type Service, type Tables } from './database.js'
import {
  columnsOf,
  expectItem,
  expectNewId,
  type ItemRequest,
  isExpected,
  isVisible,
  nextVersion,
  notFound,
  type RequestById,
  readPage,
  type Values,
  validatorsOf,
} from './items.js'
import { type Described, routesOf, withArticle } from './routes.js'

type CreateRequest = Called & Pick<FastifyRequest<{ Body: Values }>, 'body' | 'prefer'>

export interface Collection extends Described {
  readonly compare?: Readonly<Record<string, (value: unknown) => RawBuilder<boolean>>>
  /** The condition of the items that a user sees. Default: their own, by `user_id`. */
  readonly isOwn?: (user: bigint) => RawBuilder<boolean>
  readonly reserved?: readonly string[]
  readonly final?: string
  /** Refuses to write an item of another user. Default: by `user_id`. */
  readonly refuse?: (request: Called, changes: Values, queries: Queries) => void | Promise<void>
  /** Returns the columns of members. Default: the same. */
  readonly toRow?: (values: Values) => Values
  readonly create?: {
    readonly description?: string
    readonly config?: FastifyContextConfig
    readonly refuse?: (request: Called) => void
    /** Starts an operation that creates the item instead, or returns nothing. */
    readonly later?: (request: CreateRequest, reply: FastifyReply) => Promise<object> | undefined
  }
}

/** Mounts the six routes of a collection, and returns what actions on its items need. */
export function mountCollection<Table extends keyof Tables>(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  { db }: Service,
  collection: Collection,
) {
  const {
    item,
    defaults = {},
    filters,
    compare = {},
    isOwn,
    reserved = [],
    toRow = (values) => values,
  } = collection
  const one = item.$id
  // All collections have the columns that are named here, so one stands for all.
  const table = `${one}s` as 'friends'
  const path = `/v1/${table}`
  const routes = routesOf(collection, findVersion)

  app.get(path, routes.list, async function listItems(request, reply) {
    const given = Object.entries(request.query as Values).filter(
      ([name, value]) => filters.includes(name) && value !== undefined,
    )
    const conditions = given.map(
      ([name, value]) => compare[name]?.(value) ?? sql<boolean>`${sql.ref(name)} = ${value}`,
    )
    const found = db.selectFrom(table).where(({ and }) => and([isVisible(request, isOwn), ...conditions]))
    const { rows, total } = await readPage(found, item, request)
    return reply.list(rows, total)
  })

  const { description = routes.create.schema.description, config, ...create } = collection.create ?? {}
  const creating = {
    schema: { ...routes.create.schema, description },
    config: { ...routes.create.config, ...config },
  }
  app.post(path, creating, async function createItem(request, reply) {
    create.refuse?.(request)
    await refuse(request, changesOf(request, defaults), db)
    // Not awaited here: a reply that has been sent resolves to undefined.
    const later = create.later?.(request, reply)
    if (later !== undefined) return later
    const made = await db.transaction().execute(async (trx) => {
      const row = await insert(trx, request.body)
      const headers = { location: `${path}/${row.id}` }
      // No crash separates the item from the answer.
      await request.idempotency.keep(connectionOf(trx), { statusCode: 201, headers, body: row })
      return row
    })
    return reply.code(201).header('location', `${path}/${made.id}`).send(made)
  })

  app.get(`${path}/:id`, routes.read, async function readItem(request) {
    const missing = () => notFound(one, request.params.id)
    return visible(db, request).select(columnsOf(item, request)).executeTakeFirstOrThrow(missing)
  })

  app.put(`${path}/:id`, routes.replace, async function replaceItem(request, reply) {
    if (request.expectedVersion !== null) return updateItem(request)
    const { id } = request.params
    await expectNewId(db, table, request)
    const made = await insert(db, { id, ...changesOf(request, { id }) })
    return reply.code(201).header('location', `${path}/${id}`).send(made)
  })

  app.patch(`${path}/:id`, routes.update, updateItem)

  app.delete(`${path}/:id`, routes.remove, async function deleteItem(request, reply) {
    const deleted = await db
      .deleteFrom(table)
      .where('id', '=', request.params.id)
      .where(isVisible(request, isOwn))
      .where(isExpected(request))
      .returning('updated_at')
      .executeTakeFirst()
    expectItem(one, request, deleted)
    return reply.code(204).send()
  })

  /** Writes the members of a body whose values are new; without one, the item stays as it is. */
  async function updateItem(request: ItemRequest & { readonly body: Values }) {
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const row = expectItem(one, request, found)
      const changes = changesOf(request, row)
      refuseToLeave(row, changes)
      await refuse(request, changes, trx)
      if (Object.keys(changes).length === 0) return row
      return trx
        .updateTable(table)
        .set({ ...toRow(changes), updated_at: nextVersion })
        .where('id', '=', row.id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  /** Brings the item of a request from one of some states into another, in which it may be already. */
  async function bringInto(status: string, from: readonly string[], refusal: string, request: ItemRequest) {
    const changed = await db
      .updateTable(table)
      .set({ status, updated_at: nextVersion } as object)
      .where('id', '=', request.params.id)
      .where(isVisible(request, isOwn))
      .where(isExpected(request))
      .where(sql.ref('status'), 'in', from)
      .returningAll()
      .executeTakeFirst()
    if (changed !== undefined) return changed
    const row = await find(db, request)
    if (statusOf(row) === status) return row
    throw new ProblemError(refusal, { status: 409, detail: `the ${one} ${row.id} is ${statusOf(row)}` })
  }

  async function find(
    queries: Queries,
    request: ItemRequest,
  ): Promise<Selectable<Tables[Table]> & { readonly id: bigint }> {
    return expectItem(one, request, await visible(queries, request).selectAll().executeTakeFirst()) as never
  }

  async function findVersion(request: RequestById): Promise<RouteValidators | null> {
    const row = await visible(db, request).select('updated_at').executeTakeFirst()
    return row === undefined ? null : validatorsOf(row)
  }

  /** Returns the query of the item that a request names, if the caller sees it. */
  function visible(queries: Queries, request: ItemRequest) {
    return queries.selectFrom(table).where('id', '=', request.params.id).where(isVisible(request, isOwn))
  }

  function insert(queries: Queries, values: Values) {
    return queries
      .insertInto(table)
      .values(toRow(values) as never)
      .returningAll()
      .executeTakeFirstOrThrow()
  }

  async function refuse(request: Called, changes: Values, queries: Queries): Promise<void> {
    refuseReserved(request, changes, reserved)
    if (collection.refuse !== undefined) await collection.refuse(request, changes, queries)
    else refuseForeign(request, changes.user_id as bigint | undefined, withArticle(one))
  }

  function refuseToLeave(row: { readonly id: bigint }, changes: Values): void {
    if (collection.final === undefined || statusOf(row) !== collection.final || changes.status === undefined)
      return
    const detail = `the ${one} ${row.id} is ${collection.final}, and stays so`
    throw new ProblemError('status-final', { status: 409, detail })
  }

  return { action: routes.action, find, findVersion, bringInto, insert }
}

export type Mounted = ReturnType<typeof mountCollection>

function statusOf(row: object): unknown {
  return (row as Values).status
}
