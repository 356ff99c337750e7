/**
 * A server with `POST /v1/payments`, in a process of its own. Its set-up is JSON in its first argument. A payment is a row in
 * PostgreSQL: in one transaction with its answer, or before an answer that the store gets after it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { idempotency, problems } from 'fastify-conventions'
import { postgresIdempotency } from 'fastify-conventions/stores/postgres'
import { redisIdempotency } from 'fastify-conventions/stores/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { ServerSetUp } from './payments.js'

const { postgres, redis, isTransactional, lease } = JSON.parse(process.argv[2] ?? '') as ServerSetUp
const pool = new Pool({ connectionString: postgres, max: 20 })
pool.on('error', () => {})
const store = redis === null ? postgresIdempotency(pool) : redisIdempotency(new Redis(redis))

const app = Fastify()
await app.register(problems)
await app.register(idempotency, { store, lease, storeTimeout: '10 s', identify: () => 'ada' })

const insert = 'INSERT INTO payments (key) VALUES ($1) RETURNING id'

app.post('/v1/payments', { config: { idempotency: { required: true } } }, async (request, reply) => {
  const values = [request.idempotency.key]
  reply.code(201)
  if (!isTransactional) {
    const { rows } = await pool.query(insert, values)
    await pause(Math.random() * 10)
    return rows[0]
  }
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const { rows } = await client.query(insert, values)
    await pause(Math.random() * 10)
    await request.idempotency.keep(client, { statusCode: 201, body: rows[0] })
    await client.query('COMMIT')
    await pause(Math.random() * 10)
    return rows[0]
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
})

console.log(`at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
