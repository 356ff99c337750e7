// Work that takes long: a 202, progress, cancellation, and a 303 to what came of it.
// node examples/operation.js
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import conventions, { ProblemError, serverOptions } from 'fastify-conventions'

const app = Fastify({ ...serverOptions(), logger: true })
// Without logins: who knows the id of an operation sees it.
await app.register(conventions, { operations: { identify: () => null } })

const reports = new Map()

app.operations.define(
  'reports.make',
  { cancellable: true, retryAfter: 1 },
  async ({ input, signal, progress }) => {
    const lines = []
    for (let line = 1; line <= input.lines; line += 1) {
      await pause(20, undefined, { signal }) // Throws when a client cancels the operation.
      lines.push(`line ${line}`)
      progress(line / input.lines)
    }
    const id = reports.size + 1
    reports.set(String(id), { id, lines })
    return { resource: `/v1/reports/${id}` }
  },
)

const body = {
  type: 'object',
  required: ['lines'],
  additionalProperties: false,
  properties: { lines: { type: 'integer', minimum: 1, maximum: 1000 } },
}

app.post(
  '/v1/reports',
  { schema: { body }, config: { operations: { starts: 'reports.make' } } },
  async (request, reply) => reply.startOperation('reports.make', request.body),
)

app.get('/v1/reports/:id', async (request) => {
  const report = reports.get(request.params.id)
  if (report === undefined) throw new ProblemError('not-found')
  return report
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
