import type { FastifyInstance } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { sql } from 'kysely'
import type { Service } from './database.js'

/** Probes have no credentials, come during maintenance too, and must not use up a quota. */
const config = { bearer: false, maintenance: false, rateLimit: false } as const

/** Mounts `GET /health`, for who decides whether this instance gets requests: 200, or 503 without a database or while it closes. */
export async function mountHealth(app: FastifyInstance, { db }: Pick<Service, 'db'>): Promise<void> {
  let isClosing = false
  app.addHook('preClose', async function noteClosing() {
    isClosing = true
  })
  app.get('/health', { schema: { hide: true }, config }, async function tellHealth(_request, reply) {
    if (isClosing) throw new ProblemError('server-closing', { status: 503 })
    await sql`select 1`.execute(db)
    return reply.header('cache-control', 'no-store').send({ status: 'ok' })
  })
}
