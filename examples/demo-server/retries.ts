import type { FastifyInstance } from 'fastify'
import { type OperationContext, type OperationOutcome, ProblemError } from 'fastify-conventions'
import { forbidden, isAdmin, type Owner, ownerOf } from './caller.js'
import { orders } from './collections/orders.js'
import { payments } from './collections/payments.js'
import { users } from './collections/users.js'
import type { Database, Queries, Row } from './database.js'
import type { Collection } from './declaration.js'
import { takeEmptyBodies } from './empty-bodies.js'
import { claimRetry, releaseRetry, succeedRetry } from './retry-claims.js'
import { idParams, noQuery } from './schemas.js'
import { scopeOf } from './scopes.js'
import { insertRow, nextVersion, selectOne, setStatus, type Values } from './sql.js'
import { once, takeTime } from './work.js'

/** What {@link mountRetries} needs. */
export interface RetriesOptions {
  readonly database: Database
  /** 1 for the pace of a real service, less for a faster one. */
  readonly pace: number
}

/** What a retry is asked for with. */
interface Retry {
  readonly retry_reason?: string
  readonly force_retry?: boolean
}

/** What the work of a retry is started with; ids as text, as they are longer than a Number. */
interface RetryInput extends Retry {
  readonly id: string
  /** What was claimed: the path of the item, and the order that is paid. */
  readonly item: string
  readonly order_id: string
}

interface RetryRoute {
  Params: { id: bigint }
  Body: Retry | null
}

const retryBody = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {
    retry_reason: { type: 'string', maxLength: 200, description: 'Why it is tried again; for the log' },
    force_retry: { type: 'boolean', description: 'Tries again whatever became of it, and succeeds' },
  },
}

/** Mounts the actions that take long, and defines the work behind them. */
export async function mountRetries(app: FastifyInstance, { database, pace }: RetriesOptions): Promise<void> {
  takeEmptyBodies(app)

  app.operations.define<RetryInput>(
    'payments.retry',
    { cancellable: true, retryAfter: 2 },
    async (context) => {
      const { id, force_retry, retry_reason } = context.input
      context.log.info({ retry_reason }, `payment ${id} is tried again`)
      return claimed(context, 2_000, async (queries) => {
        const payment = await found(queries, payments, BigInt(id), 'all')
        refuseWithoutFunds(payment, force_retry)
        const { order_id, amount, currency } = payment
        refusePaid(await found(queries, orders, order_id as bigint, 'all'), force_retry)
        return { resource: await pay(queries, { order_id, amount, currency }) }
      })
    },
  )

  app.operations.define<RetryInput>('orders.retry', { cancellable: true, retryAfter: 3 }, async (context) => {
    const { id, force_retry, retry_reason } = context.input
    context.log.info({ retry_reason }, `order ${id} is tried again`)
    return claimed(context, 3_000, async (queries) => {
      const order = await found(queries, orders, BigInt(id), 'all')
      refuseWithoutFunds(await lastPayment(queries, BigInt(id)), force_retry)
      const payment = await pay(queries, {
        order_id: order.id,
        amount: order.total_amount,
        currency: order.currency,
      })
      return { result: { order: `/v1/orders/${id}`, payment, status: 'paid' } }
    })
  })

  /** Does the work of a retry in one transaction with the mark that it succeeded; a failure gives the claim back. */
  async function claimed(
    context: OperationContext<RetryInput>,
    milliseconds: number,
    work: (queries: Queries) => Promise<OperationOutcome>,
  ): Promise<OperationOutcome> {
    const claim = { item: context.input.item, orderId: BigInt(context.input.order_id) }
    try {
      await takeTime(context, milliseconds, pace)
      return await once(database, context, async (queries) => {
        await succeedRetry(queries, claim)
        return work(queries)
      })
    } catch (error) {
      // Another process may go on with it. Where nothing gives the claim back, it ends by itself.
      if (!isInterrupted(context)) await releaseRetry(database, claim).catch(() => undefined)
      throw error
    }
  }

  app.operations.define<{ readonly id: string }>('users.verify-email', { retryAfter: 1 }, async (context) => {
    await takeTime(context, 1_000, pace)
    const [user] = await database.query({
      text: `update users set email_verified = true,
        updated_at = case when email_verified then updated_at else ${nextVersion} end where id = $1 returning id`,
      values: [BigInt(context.input.id)],
    })
    if (user === undefined) missing(users, BigInt(context.input.id))
  })

  for (const collection of [payments, orders]) {
    const { name, singular } = collection
    app.post<RetryRoute>(
      `/v1/${name}/:id/retry`,
      {
        schema: {
          ...about('retry', singular, name),
          body: retryBody,
        },
        config: {
          bearer: { scopes: [scopeOf(collection, 'write')] },
          operations: { starts: `${name}.retry` },
          problems: { codes: { 'not-retryable': 409, 'retry-running': 409, 'already-retried': 409 } },
        },
      },
      async function retry(request, reply) {
        const { params, body } = request
        const { id } = params
        const item = await found(database, collection, id, ownerOf(request))
        if (body?.force_retry === true && !isAdmin(request))
          throw forbidden('force_retry: only an admin sets it')
        if (body?.force_retry !== true && item.status !== 'failed') {
          const detail = `the ${singular} ${id} is ${String(item.status)}; force_retry tries it all the same`
          throw new ProblemError('not-retryable', { status: 409, detail })
        }
        const claim = { item: `/v1/${name}/${id}`, orderId: (item.order_id ?? id) as bigint }
        await claimRetry(database, claim)
        const input: RetryInput = {
          ...body,
          id: String(id),
          item: claim.item,
          order_id: String(claim.orderId),
        }
        return reply.startOperation(`${name}.retry`, input).catch(async (error: unknown) => {
          await releaseRetry(database, claim)
          throw error
        })
      },
    )
  }

  app.post<RetryRoute>(
    '/v1/users/:id/verify_email',
    {
      schema: {
        ...about('verifyEmail', 'user', 'users'),
        summary: 'Verify the email address of a user',
        body: { type: ['object', 'null'], additionalProperties: false, properties: {} },
      },
      config: {
        bearer: { scopes: [scopeOf(users, 'write')] },
        operations: { starts: 'users.verify-email' },
        pathGuard: { except: ['underscore'], reason: 'clients know it by this name' },
      },
    },
    async function verifyEmail(request, reply) {
      const { id } = request.params
      await found(database, users, id, ownerOf(request))
      return reply.startOperation('users.verify-email', { id: String(id) })
    },
  )
}

/** Does this run end before its operation? */
function isInterrupted({ signal }: Pick<OperationContext, 'signal'>): boolean {
  return signal.reason instanceof ProblemError && signal.reason.code === 'operation-interrupted'
}

async function found(queries: Queries, collection: Collection, id: bigint, owner: Owner): Promise<Row> {
  const [row] = await queries.query(selectOne(collection, id, null, owner))
  return row ?? missing(collection, id)
}

function missing({ singular }: Collection, id: bigint): never {
  throw new ProblemError('not-found', { detail: `there is no ${singular} ${id}` })
}

async function lastPayment(queries: Queries, order: bigint): Promise<Row | undefined> {
  const [payment] = await queries.query({
    text: 'select failure_reason from payments where order_id = $1 order by id desc limit 1',
    values: [order],
  })
  return payment
}

function refuseWithoutFunds(payment: Row | undefined, isForced: boolean | undefined): void {
  if (isForced === true || payment?.failure_reason !== 'insufficient_funds') return
  throw new ProblemError('insufficient-funds', {
    status: 409,
    detail: 'there is still not enough on the account',
  })
}

/** Another payment of the order may have succeeded meanwhile. */
function refusePaid({ id, status }: Row, isForced: boolean | undefined): void {
  if (isForced === true || (status !== 'paid' && status !== 'fulfilled')) return
  throw new ProblemError('not-retryable', {
    status: 409,
    detail: `the order ${String(id)} is ${status}; force_retry tries it all the same`,
  })
}

/** Pays an order; where the new payment is. */
async function pay(queries: Queries, payment: Values): Promise<string> {
  const [row] = await queries.query(insertRow(payments, { ...payment, status: 'succeeded' }))
  await queries.query(
    setStatus(orders, payment.order_id as bigint, 'paid', ['pending', 'failed', 'cancelled'], 'all'),
  )
  return `/v1/payments/${String(row?.id)}`
}

function about(verb: string, singular: string, collection: string) {
  return {
    operationId: verb === 'retry' ? `retry${singular.charAt(0).toUpperCase()}${singular.slice(1)}` : verb,
    summary: `Try a ${singular} again`,
    tags: [collection],
    params: idParams,
    querystring: noQuery,
  }
}
