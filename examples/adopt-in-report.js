// A service that is older than its conventions. In `report` no response changes; the report has what would.
// node examples/adopt-in-report.js
import Fastify from 'fastify'
import conventions, { formatReport } from 'fastify-conventions'

const app = Fastify({ logger: true })
await app.register(conventions, {
  mode: 'report',
  exceptions: [{ url: '/legacy/*', reason: 'of another team, until 2027' }],
})

app.get('/v1/getUser', async (request) => ({ userName: 'Ada', id: request.query.id ?? null }))
app.get('/legacy/Report', async () => [])
app.get('/health', async () => ({ ok: true }))

// For the team: what `enforce` would refuse and change, after some days of real requests.
app.get('/conventions.txt', { config: { pathGuard: false } }, async (_request, reply) =>
  reply.type('text/plain').send(formatReport(app.conventions.report())),
)

await app.listen({ port: Number(process.env.PORT ?? 3000) })
