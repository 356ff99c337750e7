import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type OperationResult, ProblemError } from 'fastify-conventions'
import type { ExpressionBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { takeEmptyBodies, takeMergePatches } from '../bodies.js'
import { forbidden, type Owner, ownerOf } from '../caller.js'
import { changesOf, refuseReserved, refuseToLeave, writableOf } from '../changes.js'
import { noReference } from '../constraint-problems.js'
import { connectionOf, type Queries } from '../database.js'
import {
  type ById,
  expectItem,
  type ItemRequest,
  isExpected,
  nextVersion,
  notFound,
  refuseFutureId,
  validatorsOf,
} from '../items.js'
import { columnsOf, given, listColumnsOf, onePage } from '../pages.js'
import {
  pay,
  RetryBody,
  type RetryInput,
  refuseWithoutFunds,
  retryCodes,
  runRetry,
  startRetry,
} from '../retries.js'
import {
  closed,
  createdResponse,
  currency,
  emptyResponse,
  idParams,
  itemOf,
  itemResponse,
  listResponse,
  minorUnits,
  noMembers,
  noQuery,
  oneOf,
  readOnlyMembers,
  reference,
  withDefault,
} from '../schemas.js'
import type { Service } from '../service.js'
import type { Tables } from '../tables.js'
import { once, takeTime } from '../work.js'

const fields = {
  user_id: reference('The user who ordered'),
  status: oneOf(['pending', 'paid', 'fulfilled', 'failed', 'cancelled'], 'How far the order has come'),
  total_amount: minorUnits('What the order costs, in minor units'),
  currency,
  items: Type.Array(
    Type.Object(
      {
        sku: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', description: 'Article number' }),
        quantity: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'How many' }),
        unit_amount: Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'What one costs, in minor units',
        }),
      },
      closed,
    ),
    { minItems: 1, maxItems: 100, description: 'What was ordered' },
  ),
}

/** What a user bought. */
export const Order = itemOf('order', 'What users bought', fields)
const NewOrder = Type.Object({ ...fields, status: withDefault(fields.status, 'pending') }, closed)
const WholeOrder = Type.Object({ ...NewOrder.properties, ...readOnlyMembers('order') }, closed)
const OrderPatch = Type.Object(
  { ...Type.Partial(Type.Object(fields)).properties, ...readOnlyMembers('order') },
  closed,
)
const { user_id, status } = fields
const Filters = Type.Partial(Type.Object({ user_id, status, currency }), closed)

const ofItem = { tags: ['orders'], params: idParams, querystring: noQuery }

/** Mounts `/v1/orders`, and what is done to an order: cancel, retry. */
export const orders: FastifyPluginAsyncTypebox<Service> = async function mountOrders(app, { db, pace }) {
  const reading = { scopes: ['orders:read'] }
  const codes = { 'status-final': 409, 'reference-not-found': 422 }
  const writing = {
    bearer: { scopes: ['orders:write'] },
    problems: { codes },
    caching: { validators: findVersion, validatorsOf },
  }

  app.get(
    '/v1/orders',
    {
      schema: {
        operationId: 'listOrders',
        summary: 'List orders',
        tags: ['orders'],
        querystring: Filters,
        response: { 200: listResponse('orders', Order) },
      },
      config: {
        bearer: reading,
        lists: { member: 'orders' },
        fields: {},
        formats: ['xml', 'csv'],
        caching: {},
      },
    },
    async function listOrders(request, reply) {
      const found = db
        .selectFrom('orders')
        .where(visibleTo(ownerOf(request)))
        .where(({ and }) => and(given(request.query, ['user_id', 'status', 'currency'])))
      const rows = await onePage(found.select(listColumnsOf(Order, request)), request.page).execute()
      if (!request.page.includeTotal) return reply.list(rows)
      const { total } = await found
        .select(({ fn }) => fn.countAll<bigint>().as('total'))
        .executeTakeFirstOrThrow()
      return reply.list(rows, total)
    },
  )

  app.post(
    '/v1/orders',
    {
      schema: {
        operationId: 'createOrder',
        summary: 'Create order',
        tags: ['orders'],
        querystring: noQuery,
        body: NewOrder,
        response: { 201: createdResponse(Order, 'The new order') },
      },
      config: {
        ...writing,
        operations: { starts: 'orders.create' },
        problems: { codes: { ...codes, 'operation-cancelled': 409, 'operation-timed-out': 500 } },
        caching: { validatorsOf },
        formats: { produces: ['xml'], body: true },
      },
    },
    async function createOrder(request, reply) {
      const { body } = request
      const owner = ownerOf(request)
      refuseReserved(owner, changesOf(body, { status: 'pending' }), ['status'])
      refuseForeign(owner, body.user_id)
      if (request.prefer.respondAsync) {
        const user = await db
          .selectFrom('users')
          .select('id')
          .where('id', '=', body.user_id)
          .executeTakeFirst()
        if (user === undefined) throw noReference('user_id', body.user_id, 'users')
        return reply.startOperation('orders.create', body, { answer: createdOrder })
      }
      const order = await db.transaction().execute(async (trx) => {
        const made = await insertOrder(trx, body)
        const headers = { location: `/v1/orders/${made.id}` }
        await request.idempotency.keep(connectionOf(trx), { statusCode: 201, headers, body: made })
        return made
      })
      return reply.code(201).header('location', `/v1/orders/${order.id}`).send(order)
    },
  )

  app.get(
    '/v1/orders/:id',
    {
      schema: {
        operationId: 'readOrder',
        summary: 'Read order',
        ...ofItem,
        response: { 200: itemResponse(Order, 'The order') },
      },
      config: {
        bearer: reading,
        fields: {},
        formats: ['xml'],
        caching: { cacheControl: { private: true, noCache: true }, validators: findVersion },
      },
    },
    async function readOrder(request) {
      const missing = () => notFound('order', request.params.id)
      return visible(db, request).select(columnsOf(Order, request)).executeTakeFirstOrThrow(missing)
    },
  )

  app.put(
    '/v1/orders/:id',
    {
      schema: {
        operationId: 'replaceOrder',
        summary: 'Replace order',
        ...ofItem,
        body: WholeOrder,
        response: {
          200: itemResponse(Order, 'The order as it is now'),
          201: createdResponse(Order, 'The new order, made with If-None-Match: *'),
        },
      },
      config: { ...writing, problems: { codes: { ...codes, 'id-not-given-out': 422 } } },
    },
    async function replaceOrder(request, reply) {
      if (request.expectedVersion !== null) return update(request)
      // Any other precondition is about an item that is gone. Users do not choose ids: they would learn which are in use.
      const { id } = request.params
      if (request.headers['if-none-match'] !== '*' || ownerOf(request) !== 'all') throw notFound('order', id)
      await refuseFutureId(db, 'orders', id)
      const order = await insertOrder(db, { id, ...writableOf(request.body, { id }, NewOrder) })
      return reply.code(201).header('location', `/v1/orders/${id}`).send(order)
    },
  )

  await app.register(async function mountPatch(scope: typeof app) {
    takeMergePatches(scope)
    scope.patch(
      '/v1/orders/:id',
      {
        schema: {
          operationId: 'updateOrder',
          summary: 'Update order',
          ...ofItem,
          consumes: ['application/merge-patch+json', 'application/json'],
          body: OrderPatch,
          response: { 200: itemResponse(Order, 'The order as it is now') },
        },
        config: writing,
      },
      async function updateOrder(request) {
        return update(request)
      },
    )
  })

  app.delete(
    '/v1/orders/:id',
    {
      schema: {
        operationId: 'deleteOrder',
        summary: 'Delete order',
        ...ofItem,
        response: { 204: emptyResponse('The order is gone') },
      },
      config: { ...writing, problems: { codes: { 'still-referenced': 409 } } },
    },
    async function deleteOrder(request, reply) {
      const deleted = await db
        .deleteFrom('orders')
        .where('id', '=', request.params.id)
        .where(visibleTo(ownerOf(request)))
        .where(isExpected(request))
        .returning('updated_at')
        .executeTakeFirst()
      expectItem('order', request, deleted)
      return reply.code(204).send()
    },
  )

  /** Writes the members of a body whose values are new; without one, the order stays as it is. */
  async function update(request: ItemRequest<Static<typeof OrderPatch>>) {
    const { id } = request.params
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const order = expectItem('order', request, found)
      const { items, ...changes } = changesOf(writableOf(request.body, order, NewOrder), order)
      const owner = ownerOf(request)
      refuseToLeave('fulfilled', 'order', order, changes)
      refuseReserved(owner, changes, ['status'])
      refuseForeign(owner, changes.user_id)
      if (items === undefined && Object.keys(changes).length === 0) return order
      return trx
        .updateTable('orders')
        .set({ ...changes, ...(items && { items: JSON.stringify(items) }), updated_at: nextVersion })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: FastifyRequest<ById>) {
    const order = await visible(db, request).select('updated_at').executeTakeFirst()
    return order === undefined ? null : validatorsOf(order)
  }

  app.operations.define<Static<typeof NewOrder>>(
    'orders.create',
    { cancellable: true, retryAfter: 1 },
    async (context) => {
      await takeTime(context, 1_000, pace)
      return once(db, context, async (trx) => {
        const { id } = await insertOrder(trx, context.input)
        return { resource: `/v1/orders/${id}` }
      })
    },
  )

  // For who is willing to wait, and did not have to wait too long: as if there had been no operation.
  async function createdOrder(end: OperationResult, reply: FastifyReply): Promise<FastifyReply> {
    if (end.status === 'Failed') {
      const { code, status, title, detail, errors = [] } = end.error
      throw new ProblemError(code, { status, title, detail, errors })
    }
    const id = BigInt(end.resource?.split('/').at(-1) ?? '')
    const order = await db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst()
    return reply.code(201).header('location', `/v1/orders/${id}`).send(order)
  }

  app.operations.define<RetryInput>('orders.retry', { cancellable: true, retryAfter: 3 }, async (context) => {
    const { id, force_retry } = context.input
    return runRetry({ db, pace }, context, 3_000, async (trx) => {
      const order_id = BigInt(id)
      const order = await trx.selectFrom('orders').selectAll().where('id', '=', order_id).executeTakeFirst()
      if (order === undefined) throw notFound('order', order_id)
      const last = await trx
        .selectFrom('payments')
        .select('failure_reason')
        .where('order_id', '=', order_id)
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst()
      refuseWithoutFunds(last, force_retry)
      const payment = await pay(trx, { order_id, amount: order.total_amount, currency: order.currency })
      return { result: { order: `/v1/orders/${id}`, payment, status: 'paid' } }
    })
  })

  await app.register(async function mountActions(scope: typeof app) {
    takeEmptyBodies(scope)

    scope.post(
      '/v1/orders/:id/cancel',
      {
        schema: {
          operationId: 'cancelOrder',
          summary: 'Cancel order',
          ...ofItem,
          body: noMembers,
          response: { 200: itemResponse(Order, 'The order as it is now') },
        },
        config: { bearer: writing.bearer, problems: { codes: { 'not-cancellable': 409 } } },
      },
      async function cancelOrder(request) {
        const { id } = request.params
        const cancelled = await db
          .updateTable('orders')
          .set({ status: 'cancelled', updated_at: nextVersion })
          .where('id', '=', id)
          .where(visibleTo(ownerOf(request)))
          .where('status', 'in', ['pending', 'paid', 'failed'])
          .returningAll()
          .executeTakeFirst()
        if (cancelled !== undefined) return cancelled
        const order = await findOrder(request)
        if (order.status === 'cancelled') return order
        const detail = `the order ${id} is ${order.status}`
        throw new ProblemError('not-cancellable', { status: 409, detail })
      },
    )

    scope.post(
      '/v1/orders/:id/retry',
      {
        schema: {
          operationId: 'retryOrder',
          summary: 'Try an order again',
          ...ofItem,
          body: RetryBody,
        },
        config: {
          bearer: writing.bearer,
          operations: { starts: 'orders.retry' },
          problems: { codes: retryCodes },
        },
      },
      async function retryOrder(request, reply) {
        const { id, status } = await findOrder(request)
        return startRetry({ db, pace }, request, reply, 'orders', { id, status, order_id: id })
      },
    )
  })

  function findOrder(request: ItemRequest) {
    const missing = () => notFound('order', request.params.id)
    return visible(db, request).selectAll().executeTakeFirstOrThrow(missing)
  }
}

function insertOrder(
  queries: Queries,
  { items, ...values }: Static<typeof NewOrder> & { readonly id?: bigint },
) {
  return queries
    .insertInto('orders')
    .values({ ...values, items: JSON.stringify(items) })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Returns the query of the item that a request names, if the caller sees it. */
function visible(queries: Queries, request: ItemRequest) {
  const { id } = request.params
  return queries
    .selectFrom('orders')
    .where('id', '=', id)
    .where(visibleTo(ownerOf(request)))
}

/** Returns the condition of orders that a caller sees: users see their own, and admins see all. */
export function visibleTo(owner: Owner) {
  return ({ eb, lit }: ExpressionBuilder<Tables, 'orders'>) =>
    owner === 'all' ? lit(true) : eb('user_id', '=', owner)
}

function refuseForeign(owner: Owner, user_id: bigint | undefined): void {
  if (owner === 'all' || user_id === undefined || user_id === owner) return
  throw forbidden('user_id: only an admin writes an order of another user')
}
