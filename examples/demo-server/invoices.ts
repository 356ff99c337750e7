import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ProblemError } from 'fastify-conventions'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Order } from './collections/orders.js'
import type { Queries, Service } from './database.js'
import { type ItemRequest, isVisible, notFound, type RequestById } from './items.js'
import { idParams, noQuery } from './schemas.js'
import { takeTime } from './work.js'

// An invoice is made when it is first asked for, and never changes: caches need not ask for it twice.
export const mountInvoices: FastifyPluginAsyncTypebox<Service> = async function mountInvoices(
  app,
  { db, pace },
) {
  app.operations.define<{ readonly order_id: string }>(
    'invoices.make',
    { retryAfter: 2, onePer: 'order_id' },
    async (context) => {
      await takeTime(context, 1_500, pace)
      await makeInvoice(BigInt(context.input.order_id))
    },
  )

  app.get(
    '/v1/orders/:id/invoice',
    {
      schema: {
        operationId: 'downloadInvoice',
        summary: 'Download the invoice of an order',
        description:
          'Returns the invoice of a paid order as CSV. It is made at the first request: until it is there, the answer is a 202. It never changes.',
        tags: ['orders'],
        params: idParams,
        querystring: noQuery,
        response: {
          200: Type.Unsafe<string>({
            description: 'The invoice',
            headers: { 'Content-Disposition': { type: 'string', description: 'The name of the file' } },
            content: { 'text/csv': { schema: { type: 'string' } } },
          }),
          202: Type.Unsafe<unknown>({
            description: 'It is being made: ask for it again',
            headers: { 'Retry-After': { type: 'integer', description: 'Seconds to wait before that' } },
            type: 'object',
            required: ['status'],
            properties: {
              status: { type: 'string', enum: ['In progress'] },
              progress: { type: 'number', minimum: 0, maximum: 1 },
            },
          }),
        },
      },
      config: {
        bearer: { scopes: ['orders:read'] },
        problems: {
          codes: {
            'not-paid': 409,
            'quota-exceeded': 429,
            'operations-full': 503,
            'operations-unavailable': 503,
          },
        },
        caching: {
          cacheControl: { private: true, maxAge: oneYear, immutable: true },
          validators: findVersion,
        },
      },
    },
    async function downloadInvoice(request, reply) {
      const { id } = request.params
      const invoice = await invoiceOf(request).select(['content', 'made_at']).executeTakeFirst()
      if (invoice === undefined) {
        await refuseUnpaid(db, id, isVisible(request))
        await app.operations.start('invoices.make', { order_id: String(id) }).catch((error: unknown) => {
          const isBeingMade = error instanceof ProblemError && error.code === 'operation-in-progress'
          if (!isBeingMade) throw error
        })
        return reply.notReady(1)
      }
      return reply
        .caching({ etag: invoice.made_at, lastModified: invoice.made_at })
        .header('content-disposition', `attachment; filename="invoice-${id}.csv"`)
        .type('text/csv; charset=utf-8')
        .send(invoice.content)
    },
  )

  async function findVersion(request: RequestById) {
    const invoice = await invoiceOf(request).select('made_at').executeTakeFirst()
    if (invoice === undefined) return null
    return { version: invoice.made_at, lastModified: new Date(invoice.made_at) }
  }

  function invoiceOf(request: ItemRequest) {
    return db
      .selectFrom('invoices')
      .where('order_id', '=', ({ selectFrom }) =>
        selectFrom('orders').select('id').where('id', '=', request.params.id).where(isVisible(request)),
      )
  }

  async function makeInvoice(order_id: bigint): Promise<void> {
    await db.transaction().execute(async (trx) => {
      const content = csvOf(await refuseUnpaid(trx, order_id))
      await trx
        .insertInto('invoices')
        .values({ order_id, content })
        .onConflict((conflict) => conflict.column('order_id').doNothing())
        .execute()
    })
  }
}

/** The order, which stays as it is to the end of the transaction. */
async function refuseUnpaid(queries: Queries, id: bigint, condition = sql<boolean>`true`) {
  const order = await queries
    .selectFrom('orders')
    .select(['id', 'status', 'currency', 'items', 'total_amount'])
    .where('id', '=', id)
    .where(condition)
    .forUpdate()
    .executeTakeFirst()
  if (order === undefined) throw notFound('order', id)
  if (order.status !== 'paid' && order.status !== 'fulfilled') {
    throw new ProblemError('not-paid', { status: 409, detail: `the order ${id} is ${order.status}` })
  }
  return order
}

const oneYear = 365 * 24 * 60 * 60

// Article numbers and currencies have no characters that CSV would quote (RFC 4180).
function csvOf({
  items,
  currency,
  total_amount,
}: Pick<Static<typeof Order>, 'items' | 'currency' | 'total_amount'>): string {
  const lines = items.map(({ sku, quantity, unit_amount }) =>
    [sku, quantity, unit_amount, BigInt(quantity) * BigInt(unit_amount), currency].join(','),
  )
  const total = `total,,,${total_amount},${currency}`
  return `${['sku,quantity,unit_amount,amount,currency', ...lines, total].join('\r\n')}\r\n`
}
