import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { type OperationResult, ProblemError } from 'fastify-conventions'
import { type Static, Type } from 'typebox'
import { refuseForeign, refuseReserved } from '../caller.js'
import { noReference } from '../constraint-problems.js'
import { connectionOf, type Queries, type Service } from '../database.js'
import {
  changesOf,
  columnsOf,
  expectItem,
  expectNewId,
  given,
  type ItemRequest,
  isExpected,
  isVisible,
  nextVersion,
  notFound,
  type RequestById,
  readPage,
  refuseToLeave,
  validatorsOf,
  writableOf,
} from '../items.js'
import {
  pay,
  RetryBody,
  type RetryInput,
  refuseWithoutFunds,
  retryCodes,
  runRetry,
  startRetry,
} from '../retries.js'
import { routesOf } from '../routes.js'
import {
  closed,
  currency,
  itemOf,
  itemResponse,
  minorUnits,
  noMembers,
  oneOf,
  readOnlyMembers,
  reference,
  withDefault,
} from '../schemas.js'
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
const WholeOrder = Type.Object({ ...NewOrder.properties, ...readOnlyMembers }, closed)
const OrderPatch = Type.Partial(Type.Object({ ...fields, ...readOnlyMembers }), closed)
const Filters = Type.Partial(Type.Pick(Order, ['user_id', 'status', 'currency']), closed)

/** Mounts `/v1/orders`, and what is done to an order: cancel, retry. */
export const orders: FastifyPluginAsyncTypebox<Service> = async function mountOrders(app, { db, pace }) {
  const codes = { 'status-final': 409, 'reference-not-found': 422 }
  const routes = routesOf({
    item: Order,
    filters: Filters,
    bodies: { made: NewOrder, whole: WholeOrder, changed: OrderPatch },
    visibility: 'Users see their own orders, and admins all.',
    codes,
    findVersion,
  })
  const { action } = routes

  app.get('/v1/orders', routes.list, async function listOrders(request, reply) {
    const found = db
      .selectFrom('orders')
      .where(isVisible(request))
      .where(({ and }) => and(given(request.query, Filters)))
    const { rows, total } = await readPage(found, Order, request)
    return reply.list(rows, total)
  })

  app.post(
    '/v1/orders',
    {
      ...routes.create,
      config: {
        ...routes.create.config,
        operations: { starts: 'orders.create' },
        problems: { codes: { ...codes, 'operation-cancelled': 409, 'operation-timed-out': 500 } },
        formats: ['xml'],
      },
    },
    async function createOrder(request, reply) {
      const { body } = request
      refuseReserved(request, changesOf(body, { status: 'pending' }), ['status'])
      refuseForeign(request, body.user_id, 'an order')
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

  app.get('/v1/orders/:id', routes.read, async function readOrder(request) {
    const missing = () => notFound('order', request.params.id)
    return visible(db, request).select(columnsOf(Order, request)).executeTakeFirstOrThrow(missing)
  })

  app.put('/v1/orders/:id', routes.replace, async function replaceOrder(request, reply) {
    if (request.expectedVersion !== null) return updateOrder(request)
    const { id } = request.params
    await expectNewId(db, 'orders', request)
    const order = await insertOrder(db, { id, ...writableOf(request.body, { id }, NewOrder) })
    return reply.code(201).header('location', `/v1/orders/${id}`).send(order)
  })

  app.patch('/v1/orders/:id', routes.update, updateOrder)

  app.delete('/v1/orders/:id', routes.remove, async function deleteOrder(request, reply) {
    const deleted = await db
      .deleteFrom('orders')
      .where('id', '=', request.params.id)
      .where(isVisible(request))
      .where(isExpected(request))
      .returning('updated_at')
      .executeTakeFirst()
    expectItem('order', request, deleted)
    return reply.code(204).send()
  })

  /** Writes the members of a body whose values are new; without one, the order stays as it is. */
  async function updateOrder(request: ItemRequest<Static<typeof OrderPatch>>) {
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const order = expectItem('order', request, found)
      const { items, ...changes } = changesOf(writableOf(request.body, order, NewOrder), order)
      refuseToLeave('fulfilled', 'order', order, changes)
      refuseReserved(request, changes, ['status'])
      refuseForeign(request, changes.user_id, 'an order')
      if (items === undefined && Object.keys(changes).length === 0) return order
      return trx
        .updateTable('orders')
        .set({ ...changes, ...(items && { items: JSON.stringify(items) }), updated_at: nextVersion })
        .where('id', '=', order.id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: RequestById) {
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

  app.post(
    '/v1/orders/:id/cancel',
    {
      schema: {
        operationId: 'cancelOrder',
        summary: 'Cancel order',
        description: 'Cancels an order that is not fulfilled. Repeated, it changes nothing.',
        ...action.schema,
        body: noMembers,
        response: { 200: itemResponse(Order) },
      },
      config: { ...action.config, problems: { codes: { 'not-cancellable': 409 } } },
    },
    async function cancelOrder(request) {
      const { id } = request.params
      const cancelled = await db
        .updateTable('orders')
        .set({ status: 'cancelled', updated_at: nextVersion })
        .where('id', '=', id)
        .where(isVisible(request))
        .where(isExpected(request))
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

  app.post(
    '/v1/orders/:id/retry',
    {
      schema: {
        operationId: 'retryOrder',
        summary: 'Try an order again',
        description:
          'Starts an operation that pays a failed order again. An order is tried again once at a time, and with success once.',
        ...action.schema,
        body: RetryBody,
      },
      config: {
        ...action.config,
        caching: { validators: findVersion },
        operations: { starts: 'orders.retry' },
        problems: { codes: retryCodes },
      },
    },
    async function retryOrder(request, reply) {
      const { id, status } = await findOrder(request)
      return startRetry({ db, pace }, request, reply, 'orders', { id, status, order_id: id })
    },
  )

  async function findOrder(request: ItemRequest) {
    return expectItem('order', request, await visible(db, request).selectAll().executeTakeFirst())
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
  return queries.selectFrom('orders').where('id', '=', request.params.id).where(isVisible(request))
}
