/** Answers that a handler keeps in its transaction, with PGlite. */
import { setImmediate } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import t from 'tap'
import { type IdempotencyOptions, integerTwins, ProblemError } from '../../../src/index.js'
import { postgresIdempotency } from '../../../src/stores/postgres.js'
import { payment, serviceWith } from './service.js'

const database = new PGlite()
await database.exec('CREATE TABLE payments (id bigserial PRIMARY KEY, amount integer)')
const store = postgresIdempotency(database)
await store.migrate()

const id = { type: 'integer', format: 'int64' }
const schema = { response: { 201: { type: 'object', properties: { id, at: { type: 'string' } } } } }
const body = { id: 9007199254740993n, at: new Date(0) }

type Fault = 'none' | 'before commit' | 'after commit' | 'crash'

const bare = async (options: IdempotencyOptions = {}) =>
  (await serviceWith({ store, ...options }, {}, (app) => app.register(integerTwins))).app

const url = '/v1/kept'
const kept = (key: string, more = {}) => payment(key, { url, ...more })

async function service(fault: () => Fault) {
  const app = await bare()
  const answer = { statusCode: 201, headers: { Location: '/v1/payments/1' }, body }
  app.post(url, { schema }, async (request, reply) => {
    await database.transaction(async (transaction) => {
      await transaction.query('INSERT INTO payments (amount) VALUES (5)')
      await request.idempotency.keep(transaction, answer)
      if (fault() === 'before commit') throw new ProblemError('not-paid', { status: 422 })
    })
    if (fault() === 'after commit') throw new Error('broken')
    if (fault() === 'crash') return new Promise(() => {})
    return reply.code(201).header('location', '/v1/payments/1').send(body)
  })
  return app
}

const count = async () =>
  Number((await database.query<{ n: number }>('SELECT count(*) AS n FROM payments')).rows[0]?.n)

for (const fault of ['after commit', 'crash'] as const) {
  t.test(`${fault}, a repeated request gets the bytes of the answer that was kept`, async (t) => {
    const key = fault.replace(' ', '-')
    const expected = await (await service(() => 'none')).inject(kept(`expected-${key}`))
    const faulty = await service(() => fault)
    const before = await count()
    const first = faulty.inject(kept(key))
    if (fault === 'after commit') t.equal((await first).statusCode, 500)
    else while ((await count()) === before) await setImmediate()
    // Another process: it has nothing but the store.
    for (const app of [await service(() => 'none'), await service(() => 'none')]) {
      const again = await app.inject(kept(key))
      const type = String(expected.headers['content-type'])
      const headers = { location: '/v1/payments/1', 'idempotent-replayed': 'true', 'content-type': type }
      t.match(again, { statusCode: 201, body: expected.body, headers })
    }
    t.equal((await count()) - before, 1)
  })
}

t.test('a transaction that is rolled back keeps nothing of its answer', async (t) => {
  let fault: Fault = 'before commit'
  const app = await service(() => fault)
  const before = await count()
  const first = await app.inject(kept('undone'))
  t.equal(first.statusCode, 422)
  t.equal((await app.inject(kept('undone'))).body, first.body, 'the 422 is the answer')
  fault = 'none'
  t.equal((await app.inject(kept('again'))).statusCode, 201)
  t.equal((await count()) - before, 1)
})

t.test('`keep` refuses if another process has taken over the key', async (t) => {
  const app = await bare()
  let run = 0
  app.post(url, async (request) => {
    run += 1
    // As if this process had been frozen for longer than the lease.
    if (run === 1) {
      await database.query("UPDATE fastify_conventions_idempotency SET expires_at = now() - interval '1 s'")
      t.equal((await app.inject(kept('slow'))).statusCode, 200)
    }
    await database.transaction(async (transaction) => {
      await transaction.query('INSERT INTO payments (amount) VALUES (7)')
      await request.idempotency.keep(transaction, { body: { run } })
    })
    return { run }
  })
  const before = await count()
  const late = await app.inject(kept('slow'))
  t.strictSame([late.statusCode, late.json().code], [409, 'idempotency-in-progress'])
  t.equal((await count()) - before, 1, 'the late transaction is rolled back')
  t.strictSame((await app.inject(kept('slow'))).json(), { run: 2 }, 'the answer of the other stays')
})

t.test('`keep` throws for an answer that is too long, and for one that is none', async (t) => {
  const app = await bare({ maxBytes: 200 })
  const answers = [undefined, { body: 'x'.repeat(200) }, { body: Buffer.from('x') }, { statusCode: 500 }]
  app.post(url, async (request) => {
    const answer = answers[(request.body as { index: number }).index]
    await database.transaction((transaction) => request.idempotency.keep(transaction, answer))
  })
  for (const index of answers.keys()) {
    const { statusCode } = await app.inject(kept(`bad-${index}`, { payload: { index } }))
    t.equal(statusCode, index === 0 ? 200 : 500)
  }
})
