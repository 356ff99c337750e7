// TypeBox: one schema validates, serializes, types the handler and is the OpenAPI document.
// npx tsx examples/typebox.ts
import swagger from '@fastify/swagger'
import { Type, type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify from 'fastify'
import conventions, { ProblemError, serverOptions } from 'fastify-conventions'
import { Int64 } from 'fastify-conventions/typebox'
import type { Static } from 'typebox'

const app = Fastify({ ...serverOptions(), logger: true }).withTypeProvider<TypeBoxTypeProvider>()
await app.register(swagger, { openapi: { info: { title: 'Orders', version: '1.0.0' } } })
await app.register(conventions)

const Order = Type.Object({
  id: Int64({ description: 'Id of the order' }),
  status: Type.Enum(['pending', 'paid']),
  updated_at: Type.String({ format: 'date-time' }),
})
const params = Type.Object({ id: Int64() })
const orders = new Map<bigint, Static<typeof Order>>()

function find(id: bigint): Static<typeof Order> {
  const order = orders.get(id)
  if (order === undefined) throw new ProblemError('not-found', { detail: `There is no order ${id}` })
  return order
}

app.get('/v1/orders/:id', { schema: { params, response: { 200: Order } } }, async (request) =>
  find(request.params.id),
)

app.put(
  '/v1/orders/:id',
  { schema: { params, body: Type.Pick(Order, ['status']), response: { 200: Order } } },
  async ({ params: { id }, body: { status } }) => {
    const order = { id, status, updated_at: new Date().toISOString() }
    orders.set(id, order)
    return order
  },
)

app.get('/openapi.json', { schema: { hide: true }, config: { pathGuard: false } }, async () => app.swagger())

await app.listen({ port: Number(process.env.PORT ?? 3000) })
