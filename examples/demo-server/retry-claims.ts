import { ProblemError } from 'fastify-conventions'
import type { Database, Queries } from './database.js'

/** What is tried again. */
export interface RetryClaim {
  /** Its path, which names it: `/v1/payments/9007199254740993`. */
  readonly item: string
  /** The order that a success pays. */
  readonly orderId: bigint
}

/**
 * Claims that something is tried again, before that is started: an item once, unless it fails, and an order once at a
 * time. A claim that is a minute old without a success counts no more: whoever made it is taken for dead.
 *
 * @throws ProblemError 409 `already-retried`, 409 `retry-running`
 */
export async function claimRetry(database: Database, { item, orderId }: RetryClaim): Promise<void> {
  await database.transaction(async (queries) => {
    await lockOrder(queries, orderId)
    await queries.query({
      text: `delete from retries where not has_succeeded and (item = $1 or order_id = $2)
        and begun_at < now() - interval '1 minute'`,
      values: [item, orderId],
    })
    const [claimed] = await queries.query({
      text: 'insert into retries (item, order_id) values ($1, $2) on conflict do nothing returning item',
      values: [item, orderId],
    })
    if (claimed !== undefined) return
    const [earlier] = await queries.query({
      text: 'select has_succeeded from retries where item = $1',
      values: [item],
    })
    if (earlier?.has_succeeded === true) throw alreadyRetried(item)
    throw new ProblemError('retry-running', {
      status: 409,
      detail: `the order ${orderId} is being tried again already`,
    })
  })
}

/** Marks a retry as succeeded, in the transaction that pays: of two that came this far, one goes on. */
export async function succeedRetry(queries: Queries, { item, orderId }: RetryClaim): Promise<void> {
  await lockOrder(queries, orderId)
  // The claim may be another's by now, or gone.
  await queries.query({
    text: 'delete from retries where order_id = $1 and not has_succeeded',
    values: [orderId],
  })
  const [marked] = await queries.query({
    text: `insert into retries (item, order_id, has_succeeded) values ($1, $2, true)
      on conflict (item) do nothing returning item`,
    values: [item, orderId],
  })
  if (marked === undefined) throw alreadyRetried(item)
}

/** Gives a claim back after a retry that came to nothing. */
export async function releaseRetry(queries: Queries, { item }: RetryClaim): Promise<void> {
  await queries.query({ text: 'delete from retries where item = $1 and not has_succeeded', values: [item] })
}

async function lockOrder(queries: Queries, id: bigint): Promise<void> {
  await queries.query({ text: 'select id from orders where id = $1 for no key update', values: [id] })
}

function alreadyRetried(item: string): ProblemError {
  return new ProblemError('already-retried', {
    status: 409,
    detail: `${item} has been tried again with success`,
  })
}
