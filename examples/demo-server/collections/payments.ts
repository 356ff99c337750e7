import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sql } from 'kysely'
import { ownerOf } from '../caller.js'
import { mountCollection } from '../collection.js'
import { noReference } from '../constraint-problems.js'
import type { Service } from '../database.js'
import { notFound } from '../items.js'
import { mountRetry, notRetryable, pay, refuseWithoutFunds } from '../retries.js'
import { currency, itemOf, line, minorUnits, nullable, oneOf, reference } from '../schemas.js'

const fields = {
  order_id: reference('The order that is paid for'),
  amount: minorUnits('What is paid, in minor units'),
  currency,
  status: oneOf(['pending', 'succeeded', 'failed', 'cancelled'], 'How the payment went'),
  failure_reason: nullable(line(100, 'Why it failed, such as timeout or insufficient_funds')),
}

export const Payment = itemOf('payment', 'Attempts to pay for orders', fields)

export const payments: FastifyPluginAsyncTypebox<Service> = async function mountPayments(app, service) {
  const mounted = mountCollection<'payments'>(app, service, {
    item: Payment,
    fields,
    defaults: { status: 'pending', failure_reason: null },
    filters: ['order_id', 'status'],
    visibility: 'Users see the payments of their orders, and admins all.',
    isOwn: (user) => sql<boolean>`order_id in (select id from orders where user_id = ${user})`,
    codes: { 'reference-not-found': 422 },
    reserved: ['status', 'failure_reason'],
    caching: { list: { cacheControl: { noStore: true } }, item: { noStore: true } },
    // The order of another user looks like one that does not exist.
    async refuse(request, { order_id }, queries) {
      const owner = ownerOf(request)
      if (owner === 'all' || order_id === undefined) return
      const id = order_id as bigint
      const orders = queries.selectFrom('orders').select('id').where('user_id', '=', owner)
      if ((await orders.where('id', '=', id).executeTakeFirst()) === undefined)
        throw noReference('order_id', id, 'orders')
    },
  })

  mountRetry(app, service, mounted, {
    one: 'payment',
    description:
      'Starts an operation that makes a new payment in place of a failed one, and leads to it. A payment is tried again with success once.',
    seconds: 2,
    orderOf: ({ order_id }) => order_id,
    async work(trx, id, isForced) {
      const payment = await trx.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirst()
      if (payment === undefined) throw notFound('payment', id)
      if (!isForced && payment.status !== 'failed') throw notRetryable('payment', id, payment.status)
      refuseWithoutFunds(payment, isForced)
      const { order_id, amount, currency } = payment
      const order = trx.selectFrom('orders').select('status').where('id', '=', order_id)
      const { status } = await order.executeTakeFirstOrThrow()
      // Another payment of the order may have succeeded, or the order may be cancelled.
      if (!isForced && status !== 'failed' && status !== 'pending')
        throw notRetryable('order', order_id, status)
      return { resource: await pay(trx, { order_id, amount, currency }) }
    },
  })
}
