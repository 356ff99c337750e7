import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { type Owner, ownerOf } from './caller.js'
import { orders } from './collections/orders.js'
import type { Database, Queries, Row, Statement } from './database.js'
import { startCodes } from './problem-codes.js'
import { idParams, noQuery } from './schemas.js'
import { scopeOf } from './scopes.js'
import { ownRow } from './sql.js'
import { takeTime } from './work.js'

interface Invoice {
  readonly content: string
  readonly made_at: string
}

interface Item {
  readonly sku: string
  readonly quantity: number
  readonly unit_amount: number
}

/** What {@link mountInvoices} needs. */
export interface InvoicesOptions {
  readonly database: Database
  /** 1 for the pace of a real service, less for a faster one. */
  readonly pace: number
}

/**
 * Mounts the invoices of orders, as CSV. An invoice is made when it is first asked for and the order is paid; until it is
 * there, who asks is told to come back. It never changes again, whatever becomes of the order: caches need not ask for it
 * twice.
 */
export async function mountInvoices(
  app: FastifyInstance,
  { database, pace }: InvoicesOptions,
): Promise<void> {
  app.operations.define<{ readonly order_id: string }>(
    'invoices.make',
    { retryAfter: 2 },
    async (context) => {
      await takeTime(context, 1_500, pace)
      await makeInvoice(BigInt(context.input.order_id))
    },
  )

  app.get<{ Params: { id: bigint } }>(
    '/v1/orders/:id/invoice',
    {
      schema: {
        operationId: 'downloadInvoice',
        summary: 'Download the invoice of an order',
        tags: ['orders'],
        params: idParams,
        querystring: noQuery,
        response: {
          200: { description: 'The invoice', content: { 'text/csv': { schema: { type: 'string' } } } },
          202: {
            description: 'It is being made: ask for it again',
            headers: { 'Retry-After': { type: 'integer', description: 'Seconds to wait before that' } },
            type: 'object',
            required: ['status'],
            properties: {
              status: { type: 'string', enum: ['In progress'] },
              progress: { type: 'number', minimum: 0, maximum: 1 },
            },
          },
        },
      },
      config: {
        bearer: { scopes: [scopeOf(orders, 'read')] },
        problems: { codes: { 'not-paid': 409, ...startCodes } },
        caching: {
          cacheControl: { private: true, maxAge: oneYear, immutable: true },
          validators: madeInvoice,
        },
      },
    },
    async function downloadInvoice(request, reply) {
      const { id } = request.params
      const owner = ownerOf(request)
      const invoice = await findInvoice(id, owner)
      if (invoice === undefined) {
        await refuseUnpaid(database, id, owner)
        if (await isFirstToAsk(id)) await app.operations.start('invoices.make', { order_id: String(id) })
        return reply.notReady(1)
      }
      return reply
        .etag(invoice.made_at)
        .lastModified(invoice.made_at)
        .header('content-disposition', `attachment; filename="invoice-${id}.csv"`)
        .type('text/csv; charset=utf-8')
        .send(invoice.content)
    },
  )

  async function madeInvoice(request: FastifyRequest) {
    const { id } = request.params as { id: bigint }
    const [row] = await database.query(selectInvoice('made_at', id, ownerOf(request)))
    return row === undefined
      ? null
      : { version: row.made_at as string, lastModified: new Date(row.made_at as string) }
  }

  async function findInvoice(id: bigint, owner: Owner): Promise<Invoice | undefined> {
    const [row] = await database.query(selectInvoice('content, made_at', id, owner))
    return row as Invoice | undefined
  }

  // Asked for in vain for so long, whoever made it is taken for dead.
  async function isFirstToAsk(id: bigint): Promise<boolean> {
    const rows = await database.query({
      text: `insert into invoice_requests (order_id) values ($1)
        on conflict (order_id) do update set requested_at = now()
        where invoice_requests.requested_at < now() - interval '1 minute' returning order_id`,
      values: [id],
    })
    return rows.length > 0
  }

  async function makeInvoice(id: bigint): Promise<void> {
    await database.transaction(async (queries) => {
      const order = await refuseUnpaid(queries, id, 'all')
      await queries.query({
        text: 'insert into invoices (order_id, content) values ($1, $2) on conflict (order_id) do nothing',
        values: [id, csvOf(order)],
      })
      await queries.query({ text: 'delete from invoice_requests where order_id = $1', values: [id] })
    })
  }
}

/** The invoice of an order; no row where that belongs to somebody else. */
function selectInvoice(columns: string, id: bigint, owner: Owner): Statement {
  const { condition, values } = ownRow(orders, id, owner)
  return {
    text: `select ${columns} from invoices where order_id = (select id from orders where ${condition})`,
    values,
  }
}

/** The order, which stays as it is to the end of the transaction. */
async function refuseUnpaid(queries: Queries, id: bigint, owner: Owner): Promise<Row> {
  const { condition, values } = ownRow(orders, id, owner)
  const [order] = await queries.query({
    text: `select id, status, currency, items, total_amount from orders where ${condition} for update`,
    values,
  })
  if (order === undefined) throw new ProblemError('not-found', { detail: `there is no order ${id}` })
  if (order.status !== 'paid' && order.status !== 'fulfilled') {
    throw new ProblemError('not-paid', { status: 409, detail: `the order ${id} is ${String(order.status)}` })
  }
  return order
}

const oneYear = 365 * 24 * 60 * 60

// Article numbers and currencies have no characters that CSV would quote (RFC 4180).
function csvOf({ items, currency, total_amount }: Row): string {
  const lines = (items as readonly Item[]).map(({ sku, quantity, unit_amount }) =>
    [sku, quantity, unit_amount, quantity * unit_amount, currency].join(','),
  )
  return `${[
    'sku,quantity,unit_amount,amount,currency',
    ...lines,
    `total,,,${String(total_amount)},${String(currency)}`,
  ].join('\r\n')}\r\n`
}
