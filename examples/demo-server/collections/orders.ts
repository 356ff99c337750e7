import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { type OperationResult, ProblemError } from 'fastify-conventions'
import { Type } from 'typebox'
import { mountCollection } from '../collection.js'
import { noReference } from '../constraint-problems.js'
import type { Service } from '../database.js'
import { notFound, type Values } from '../items.js'
import { mountRetry, notRetryable, pay, refuseWithoutFunds } from '../retries.js'
import {
  closed,
  currency,
  itemOf,
  itemResponse,
  minorUnits,
  noMembers,
  oneOf,
  reference,
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

export const Order = itemOf('order', 'What users bought', fields)

export const orders: FastifyPluginAsyncTypebox<Service> = async function mountOrders(app, service) {
  const { db, pace } = service
  const codes = { 'status-final': 409, 'reference-not-found': 422 }
  const mounted = mountCollection<'orders'>(app, service, {
    item: Order,
    fields,
    defaults: { status: 'pending' },
    filters: ['user_id', 'status', 'currency'],
    visibility: 'Users see their own orders, and admins all.',
    codes,
    reserved: ['status'],
    final: 'fulfilled',
    toRow: ({ items, ...values }) => ({
      ...values,
      ...(items !== undefined && { items: JSON.stringify(items) }),
    }),
    create: {
      config: {
        operations: { starts: 'orders.create' },
        problems: { codes: { ...codes, 'operation-cancelled': 409, 'operation-timed-out': 500 } },
        formats: ['xml'],
      },
      later({ body, prefer }, reply) {
        return prefer.respondAsync ? startOrder(body, reply) : undefined
      },
    },
  })

  const { action, bringInto, insert } = mounted

  app.operations.define<Values>('orders.create', { cancellable: true, retryAfter: 1 }, async (context) => {
    await takeTime(context, 1_000, pace)
    return once(db, context, async (trx) => {
      const { id } = await insert(trx, context.input)
      return { resource: `/v1/orders/${id}` }
    })
  })

  async function startOrder(body: Values, reply: FastifyReply): Promise<object> {
    const id = body.user_id as bigint
    const user = await db.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst()
    if (user === undefined) throw noReference('user_id', id, 'users')
    return reply.startOperation('orders.create', body, { answer: createdOrder })
  }

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
      return bringInto('cancelled', ['pending', 'paid', 'failed'], 'not-cancellable', request)
    },
  )

  mountRetry(app, service, mounted, {
    one: 'order',
    description:
      'Starts an operation that pays a failed order again. An order is tried again once at a time, and with success once.',
    seconds: 3,
    orderOf: ({ id }) => id,
    async work(trx, order_id, isForced) {
      const order = await trx.selectFrom('orders').selectAll().where('id', '=', order_id).executeTakeFirst()
      if (order === undefined) throw notFound('order', order_id)
      // It may have been cancelled or paid meanwhile.
      if (!isForced && order.status !== 'failed') throw notRetryable('order', order_id, order.status)
      const last = await trx
        .selectFrom('payments')
        .select('failure_reason')
        .where('order_id', '=', order_id)
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst()
      refuseWithoutFunds(last, isForced)
      const payment = await pay(trx, { order_id, amount: order.total_amount, currency: order.currency })
      const status = order.status === 'fulfilled' ? order.status : 'paid'
      return { result: { order: `/v1/orders/${order_id}`, payment, status } }
    },
  })
}
