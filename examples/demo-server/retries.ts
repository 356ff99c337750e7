import type { FastifyReply, FastifyRequest } from 'fastify'
import { type OperationContext, type OperationOutcome, ProblemError } from 'fastify-conventions'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { forbidden, isAdmin } from './caller.js'
import type { Queries, Service } from './database.js'
import { nextVersion } from './items.js'
import { closed } from './schemas.js'
import { once, takeTime } from './work.js'

const Retry = Type.Object(
  {
    retry_reason: Type.Optional(
      Type.String({ maxLength: 200, description: 'Why it is tried again; for the log' }),
    ),
    force_retry: Type.Optional(
      Type.Boolean({ description: 'Tries again whatever became of it, and succeeds' }),
    ),
  },
  closed,
)

/** The body of a retry, or none. */
export const RetryBody = Type.Unsafe<Static<typeof Retry> | null>({ ...Retry, type: ['object', 'null'] })

/** Problem codes of a route that starts a retry. */
export const retryCodes = { 'not-retryable': 409, 'retry-running': 409, 'already-retried': 409 } as const

/** What is tried again. Ids are text, as they are longer than a Number. */
export interface RetryInput extends Static<typeof Retry> {
  readonly id: string
  /** The path of the payment or order. */
  readonly item: string
  /** The order that a success pays. */
  readonly order_id: string
}

/** A payment or order that is to be tried again. */
export interface Retryable {
  readonly id: bigint
  readonly status: string
  readonly order_id: bigint
}

/** A payment that a retry makes. */
interface NewPayment {
  readonly order_id: bigint
  readonly amount: number | bigint
  readonly currency: string
}

/**
 * Starts the retry of a payment or order, unless it is being tried again already, or was with success.
 *
 * @throws ProblemError 403 `forbidden`, 409 `not-retryable`, `already-retried` or `retry-running`
 */
export async function startRetry(
  { db }: Service,
  request: Pick<FastifyRequest, 'caller'> & { readonly body: Static<typeof RetryBody> },
  reply: FastifyReply,
  collection: 'payments' | 'orders',
  { id, status, order_id }: Retryable,
): Promise<unknown> {
  const { body } = request
  if (body?.force_retry === true && !isAdmin(request)) throw forbidden('force_retry: only an admin sets it')
  if (body?.force_retry !== true && status !== 'failed')
    throw notRetryable(collection.slice(0, -1), id, status)
  const item = `/v1/${collection}/${id}`
  const input: RetryInput = { ...body, id: String(id), item, order_id: String(order_id) }
  await claim(db, input)
  return reply.startOperation<RetryInput>(`${collection}.retry`, input).catch(async (error: unknown) => {
    await release(db, input)
    throw error
  })
}

/** Does the work of a retry in one transaction with the mark that it succeeded; a failure gives the claim back. */
export async function runRetry(
  { db, pace }: Service,
  context: OperationContext<RetryInput>,
  milliseconds: number,
  work: (trx: Queries) => Promise<OperationOutcome>,
): Promise<OperationOutcome> {
  const { item, retry_reason } = context.input
  context.log.info({ retry_reason }, `${item} is tried again`)
  try {
    await takeTime(context, milliseconds, pace)
    return await once(db, context, async (trx) => {
      await markSuccess(trx, context.input)
      return work(trx)
    })
  } catch (error) {
    // Another process may go on with it. Where nothing gives the claim back, it ends by itself.
    if (!isInterrupted(context)) await release(db, context.input).catch(() => undefined)
    throw error
  }
}

/** Pays an order, and returns the path of the new payment. */
export async function pay(trx: Queries, payment: NewPayment): Promise<string> {
  const { id } = await trx
    .insertInto('payments')
    .values({ ...payment, status: 'succeeded' })
    .returning('id')
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('orders')
    .set({ status: 'paid', updated_at: nextVersion })
    .where('id', '=', payment.order_id)
    .where('status', 'in', ['pending', 'failed', 'cancelled'])
    .execute()
  return `/v1/payments/${id}`
}

/** Fails as the account does, unless the retry is forced. */
export function refuseWithoutFunds(
  payment: { readonly failure_reason: string | null } | undefined,
  isForced: boolean | undefined,
): void {
  if (isForced === true || payment?.failure_reason !== 'insufficient_funds') return
  throw new ProblemError('insufficient-funds', {
    status: 409,
    detail: 'there is still not enough on the account',
  })
}

/** Returns the problem of a retry of what has not failed. */
export function notRetryable(item: string, id: bigint, status: string): ProblemError {
  const detail = `the ${item} ${id} is ${status}; force_retry tries it all the same`
  return new ProblemError('not-retryable', { status: 409, detail })
}

/**
 * Claims that an item is tried again, before that is started: an item once, unless it fails, and an order once at a time. A
 * claim that is a minute old without a success counts no more: the process that made it is taken for dead.
 */
async function claim(db: Service['db'], { item, order_id }: RetryInput): Promise<void> {
  const orderId = BigInt(order_id)
  await db.transaction().execute(async (trx) => {
    await lockOrder(trx, orderId)
    await trx
      .deleteFrom('retries')
      .where('has_succeeded', '=', false)
      .where(({ eb, or }) => or([eb('item', '=', item), eb('order_id', '=', orderId)]))
      .where('begun_at', '<', sql<string>`now() - interval '1 minute'`)
      .execute()
    const claimed = await trx
      .insertInto('retries')
      .values({ item, order_id: orderId })
      .onConflict((conflict) => conflict.doNothing())
      .returning('item')
      .executeTakeFirst()
    if (claimed !== undefined) return
    const earlier = await trx
      .selectFrom('retries')
      .select('has_succeeded')
      .where('item', '=', item)
      .executeTakeFirst()
    if (earlier?.has_succeeded === true) throw alreadyRetried(item)
    throw new ProblemError('retry-running', {
      status: 409,
      detail: `the order ${orderId} is being tried again already`,
    })
  })
}

/** Marks a retry as succeeded, in the transaction that pays: of two that came this far, one goes on. */
async function markSuccess(trx: Queries, { item, order_id }: RetryInput): Promise<void> {
  const orderId = BigInt(order_id)
  await lockOrder(trx, orderId)
  // The claim may be another's by now, or gone.
  await trx.deleteFrom('retries').where('order_id', '=', orderId).where('has_succeeded', '=', false).execute()
  const marked = await trx
    .insertInto('retries')
    .values({ item, order_id: orderId, has_succeeded: true })
    .onConflict((conflict) => conflict.column('item').doNothing())
    .returning('item')
    .executeTakeFirst()
  if (marked === undefined) throw alreadyRetried(item)
}

/** Gives a claim back after a retry that came to nothing. */
async function release(queries: Queries, { item }: RetryInput): Promise<void> {
  await queries.deleteFrom('retries').where('item', '=', item).where('has_succeeded', '=', false).execute()
}

async function lockOrder(trx: Queries, id: bigint): Promise<void> {
  await trx.selectFrom('orders').select('id').where('id', '=', id).forNoKeyUpdate().execute()
}

/** Does this run end before its operation? */
function isInterrupted({ signal }: Pick<OperationContext, 'signal'>): boolean {
  return signal.reason instanceof ProblemError && signal.reason.code === 'operation-interrupted'
}

function alreadyRetried(item: string): ProblemError {
  return new ProblemError('already-retried', {
    status: 409,
    detail: `${item} has been tried again with success`,
  })
}
