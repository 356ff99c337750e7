import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type OperationContext, type OperationOutcome, ProblemError } from 'fastify-conventions'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { forbidden, isAdmin } from './caller.js'
import type { Mounted } from './collection.js'
import type { Queries, Service } from './database.js'
import { type ItemRequest, nextVersion, notFound } from './items.js'
import { withArticle } from './routes.js'
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

const RetryBody = Type.Unsafe<Static<typeof Retry> | null>({ ...Retry, type: ['object', 'null'] })

/** What is tried again. Ids are text, as they are longer than a Number. */
interface RetryInput extends Static<typeof Retry> {
  readonly id: string
  readonly item: string
  /** The order that a success pays. */
  readonly order_id: string
}

export interface RetryOptions<Row> {
  readonly one: 'order' | 'payment'
  readonly description: string
  readonly seconds: number
  readonly orderOf: (row: Row) => bigint
  /** Does the work, in one transaction with the mark that it succeeded. */
  readonly work: (trx: Queries, id: bigint, isForced: boolean) => Promise<OperationOutcome>
}

/** Mounts the retry of an item: once at a time for its order, and with success once. */
export function mountRetry<Row extends { readonly id: bigint; readonly status: string }>(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  { db, pace }: Service,
  {
    action,
    findVersion,
    find,
  }: Omit<Mounted, 'find'> & { find(from: Queries, request: ItemRequest): Promise<Row> },
  { one, description, seconds, orderOf, work }: RetryOptions<Row>,
): void {
  const name = `${one}s.retry`

  app.operations.define<RetryInput>(name, { cancellable: true, retryAfter: seconds }, async (context) => {
    const { id, item, force_retry = false, retry_reason } = context.input
    context.log.info({ retry_reason }, `${item} is tried again`)
    try {
      await takeTime(context, seconds * 1_000, pace)
      return await once(db, context, async (trx) => {
        await markSuccess(trx, context.input)
        return work(trx, BigInt(id), force_retry)
      })
    } catch (error) {
      // Another process may go on with it. Where nothing gives the claim back, it ends by itself.
      if (!isInterrupted(context)) await release(db, context.input).catch(() => undefined)
      throw error
    }
  })

  app.post(
    `/v1/${one}s/:id/retry`,
    {
      schema: {
        operationId: `retry${one.charAt(0).toUpperCase()}${one.slice(1)}`,
        summary: `Try ${withArticle(one)} again`,
        description,
        ...action.schema,
        body: RetryBody,
      },
      config: {
        ...action.config,
        caching: { validators: findVersion },
        operations: { starts: name },
        problems: { codes: { 'not-retryable': 409, 'retry-running': 409, 'already-retried': 409 } },
      },
    },
    async function retryItem(request, reply) {
      const { body } = request
      const row = await find(db, request)
      const isForced = body?.force_retry === true
      if (isForced && !isAdmin(request)) throw forbidden('force_retry: only an admin sets it')
      if (!isForced && row.status !== 'failed') throw notRetryable(one, row.id, row.status)
      const id = String(row.id)
      const input = { ...body, id, item: `/v1/${one}s/${id}`, order_id: String(orderOf(row)) }
      await claim(db, input)
      return reply.startOperation(name, input).catch(async (error: unknown) => {
        await release(db, input)
        throw error
      })
    },
  )
}

export async function pay(
  trx: Queries,
  payment: { readonly order_id: bigint; readonly amount: number | bigint; readonly currency: string },
): Promise<string> {
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
  isForced: boolean,
): void {
  if (isForced || payment?.failure_reason !== 'insufficient_funds') return
  throw new ProblemError('insufficient-funds', {
    status: 409,
    detail: 'there is still not enough on the account',
  })
}

export function notRetryable(item: string, id: bigint, status: string): ProblemError {
  const detail = `the ${item} ${id} is ${status}; force_retry tries it all the same`
  return new ProblemError('not-retryable', { status: 409, detail })
}

// A claim that is a minute old without a success counts no more: its process is taken for dead.
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

async function release(queries: Queries, { item }: RetryInput): Promise<void> {
  await queries.deleteFrom('retries').where('item', '=', item).where('has_succeeded', '=', false).execute()
}

async function lockOrder(trx: Queries, id: bigint): Promise<void> {
  const missing = () => notFound('order', id)
  const order = trx.selectFrom('orders').select('id').where('id', '=', id).forNoKeyUpdate()
  await order.executeTakeFirstOrThrow(missing)
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
