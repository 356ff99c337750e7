import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import type { Database, Row } from './database.js'
import { problemResponses } from './problem-responses.js'
import { idParams, noQuery } from './schemas.js'

interface Invoice {
  readonly content: string
  readonly made_at: string
}

interface Item {
  readonly sku: string
  readonly quantity: number
  readonly unit_amount: number
}

/**
 * Mounts the invoices of orders, as CSV. An invoice is made when it is first asked for and the order is paid, and never
 * changes again, whatever becomes of the order: caches need not ask for it twice.
 */
export async function mountInvoices(
  app: FastifyInstance,
  { database }: { readonly database: Database },
): Promise<void> {
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
          ...problemResponses(400, 404, 406, 409, 412),
        },
      },
      config: {
        caching: {
          cacheControl: { private: true, maxAge: oneYear, immutable: true },
          validators: madeInvoice,
        },
      },
    },
    async function downloadInvoice(request, reply) {
      const { id } = request.params
      const invoice = (await findInvoice(id)) ?? (await makeInvoice(id))
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
    const [row] = await database.query({
      text: 'select made_at from invoices where order_id = $1',
      values: [id],
    })
    return row === undefined
      ? null
      : { version: row.made_at as string, lastModified: new Date(row.made_at as string) }
  }

  async function findInvoice(id: bigint): Promise<Invoice | undefined> {
    const [row] = await database.query({
      text: 'select content, made_at from invoices where order_id = $1',
      values: [id],
    })
    return row as Invoice | undefined
  }

  async function makeInvoice(id: bigint): Promise<Invoice> {
    return database.transaction(async (queries) => {
      const [order] = await queries.query({
        text: 'select id, status, currency, items, total_amount from orders where id = $1 for update',
        values: [id],
      })
      if (order === undefined) throw new ProblemError('not-found', { detail: `there is no order ${id}` })
      if (order.status !== 'paid' && order.status !== 'fulfilled') {
        throw new ProblemError('not-paid', {
          status: 409,
          detail: `the order ${id} is ${String(order.status)}`,
        })
      }
      const [row] = await queries.query({
        text: `insert into invoices (order_id, content) values ($1, $2)
          on conflict (order_id) do update set content = invoices.content returning content, made_at`,
        values: [id, csvOf(order)],
      })
      return row as unknown as Invoice
    })
  }
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
