import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { ExpressionBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { ownerOf, refuseReserved } from '../caller.js'
import { noReference } from '../constraint-problems.js'
import { connectionOf, type Queries, type Service, type Tables } from '../database.js'
import {
  changesOf,
  columnsOf,
  expectItem,
  expectNewId,
  given,
  type ItemRequest,
  isExpected,
  nextVersion,
  notFound,
  type RequestById,
  readPage,
  validatorsOf,
  writableOf,
} from '../items.js'
import {
  notRetryable,
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
  line,
  minorUnits,
  nullable,
  oneOf,
  readOnlyMembers,
  reference,
  withDefault,
} from '../schemas.js'

const fields = {
  order_id: reference('The order that is paid for'),
  amount: minorUnits('What is paid, in minor units'),
  currency,
  status: oneOf(['pending', 'succeeded', 'failed', 'cancelled'], 'How the payment went'),
  failure_reason: nullable(line(100, 'Why it failed, such as timeout or insufficient_funds')),
}

/** An attempt to pay for an order. */
export const Payment = itemOf('payment', 'Attempts to pay for orders', fields)
const NewPayment = Type.Object(
  {
    ...fields,
    status: withDefault(fields.status, 'pending'),
    failure_reason: withDefault(fields.failure_reason, null),
  },
  closed,
)
const WholePayment = Type.Object({ ...NewPayment.properties, ...readOnlyMembers }, closed)
const PaymentPatch = Type.Partial(Type.Object({ ...fields, ...readOnlyMembers }), closed)
const reserved = ['status', 'failure_reason']
const Filters = Type.Partial(Type.Pick(Payment, ['order_id', 'status']), closed)

/** Mounts `/v1/payments`, and the retry of a payment. */
export const payments: FastifyPluginAsyncTypebox<Service> = async function mountPayments(app, { db, pace }) {
  const routes = routesOf({
    item: Payment,
    filters: Filters,
    bodies: { made: NewPayment, whole: WholePayment, changed: PaymentPatch },
    visibility: 'Users see the payments of their orders, and admins all.',
    codes: { 'reference-not-found': 422 },
    findVersion,
    caching: { list: { cacheControl: { noStore: true } }, item: { noStore: true } },
  })
  const { action } = routes

  app.get('/v1/payments', routes.list, async function listPayments(request, reply) {
    const found = db
      .selectFrom('payments')
      .where(isVisible(request))
      .where(({ and }) => and(given(request.query, Filters)))
    const { rows, total } = await readPage(found, Payment, request)
    return reply.list(rows, total)
  })

  app.post('/v1/payments', routes.create, async function createPayment(request, reply) {
    const { body } = request
    refuseReserved(request, changesOf(body, { status: 'pending', failure_reason: null }), reserved)
    const payment = await db.transaction().execute(async (trx) => {
      await refuseForeign(trx, request, body.order_id)
      const made = await trx.insertInto('payments').values(body).returningAll().executeTakeFirstOrThrow()
      const headers = { location: `/v1/payments/${made.id}` }
      await request.idempotency.keep(connectionOf(trx), { statusCode: 201, headers, body: made })
      return made
    })
    return reply.code(201).header('location', `/v1/payments/${payment.id}`).send(payment)
  })

  app.get('/v1/payments/:id', routes.read, async function readPayment(request) {
    const missing = () => notFound('payment', request.params.id)
    return visible(db, request).select(columnsOf(Payment, request)).executeTakeFirstOrThrow(missing)
  })

  app.put('/v1/payments/:id', routes.replace, async function replacePayment(request, reply) {
    if (request.expectedVersion !== null) return updatePayment(request)
    const { id } = request.params
    await expectNewId(db, 'payments', request)
    const values = { id, ...writableOf(request.body, { id }, NewPayment) }
    const payment = await db.insertInto('payments').values(values).returningAll().executeTakeFirstOrThrow()
    return reply.code(201).header('location', `/v1/payments/${id}`).send(payment)
  })

  app.patch('/v1/payments/:id', routes.update, updatePayment)

  app.delete('/v1/payments/:id', routes.remove, async function deletePayment(request, reply) {
    const deleted = await db
      .deleteFrom('payments')
      .where('id', '=', request.params.id)
      .where(isVisible(request))
      .where(isExpected(request))
      .returning('updated_at')
      .executeTakeFirst()
    expectItem('payment', request, deleted)
    return reply.code(204).send()
  })

  /** Writes the members of a body whose values are new; without one, the payment stays as it is. */
  async function updatePayment(request: ItemRequest<Static<typeof PaymentPatch>>) {
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const payment = expectItem('payment', request, found)
      const changes = changesOf(writableOf(request.body, payment, NewPayment), payment)
      refuseReserved(request, changes, reserved)
      await refuseForeign(trx, request, changes.order_id)
      if (Object.keys(changes).length === 0) return payment
      return trx
        .updateTable('payments')
        .set({ ...changes, updated_at: nextVersion })
        .where('id', '=', payment.id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: RequestById) {
    const payment = await visible(db, request).select('updated_at').executeTakeFirst()
    return payment === undefined ? null : validatorsOf(payment)
  }

  app.operations.define<RetryInput>(
    'payments.retry',
    { cancellable: true, retryAfter: 2 },
    async (context) => {
      const { force_retry } = context.input
      return runRetry({ db, pace }, context, 2_000, async (trx) => {
        const id = BigInt(context.input.id)
        const payment = await trx.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirst()
        if (payment === undefined) throw notFound('payment', id)
        refuseWithoutFunds(payment, force_retry)
        const { order_id, amount, currency } = payment
        const order = await trx
          .selectFrom('orders')
          .select('status')
          .where('id', '=', order_id)
          .executeTakeFirstOrThrow()
        // Another payment of the order may have succeeded meanwhile.
        const isPaid = order.status === 'paid' || order.status === 'fulfilled'
        if (isPaid && force_retry !== true) throw notRetryable('order', order_id, order.status)
        return { resource: await pay(trx, { order_id, amount, currency }) }
      })
    },
  )

  app.post(
    '/v1/payments/:id/retry',
    {
      schema: {
        operationId: 'retryPayment',
        summary: 'Try a payment again',
        description:
          'Starts an operation that makes a new payment in place of a failed one, and leads to it. A payment is tried again with success once.',
        ...action.schema,
        body: RetryBody,
      },
      config: {
        ...action.config,
        caching: { validators: findVersion },
        operations: { starts: 'payments.retry' },
        problems: { codes: retryCodes },
      },
    },
    async function retryPayment(request, reply) {
      const found = await visible(db, request)
        .select(['id', 'status', 'order_id', 'updated_at'])
        .executeTakeFirst()
      return startRetry({ db, pace }, request, reply, 'payments', expectItem('payment', request, found))
    },
  )
}

/** Returns the query of the item that a request names, if the caller sees it. */
function visible(queries: Queries, request: ItemRequest) {
  return queries.selectFrom('payments').where('id', '=', request.params.id).where(isVisible(request))
}

/** Users see the payments of their orders, and admins see all. */
function isVisible(request: Pick<FastifyRequest, 'caller'>) {
  const owner = ownerOf(request)
  return ({ eb, lit, selectFrom }: ExpressionBuilder<Tables, 'payments'>) =>
    owner === 'all'
      ? lit(true)
      : eb('order_id', 'in', selectFrom('orders').select('orders.id').where('orders.user_id', '=', owner))
}

/** The order of another user looks like one that does not exist. */
async function refuseForeign(
  queries: Queries,
  request: Pick<FastifyRequest, 'caller'>,
  order_id: bigint | undefined,
) {
  const owner = ownerOf(request)
  if (owner === 'all' || order_id === undefined) return
  const order = await queries
    .selectFrom('orders')
    .select('id')
    .where('id', '=', order_id)
    .where('user_id', '=', owner)
    .executeTakeFirst()
  if (order === undefined) throw noReference('order_id', order_id, 'orders')
}
