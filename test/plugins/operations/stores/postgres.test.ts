// Own process: waits for PostgreSQL
/** The store of operations in PostgreSQL: a real server, and two pools of connections to it. */
import { randomBytes } from 'node:crypto'
import { type Pool, types } from 'pg'
import t, { type Test } from 'tap'
import { claim, type OperationRecord, renew } from '../../../../src/plugins/operations/record.js'
import { type PostgresPool, postgresOperationStore } from '../../../../src/stores/postgres.js'
import { operationStoreContract } from '../../../../src/testing/operation-store-contract.js'
import { keepsContract } from '../../../support/contract.js'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../../support/postgres.js'
import { until as untilEnough } from '../../../support/until.js'
import { ended, started, sure, time } from '../samples.js'
import { obstacleToPgBouncer, startPgBouncer } from './pgbouncer.js'

const skip = await skipWithoutPostgres()
const defaultTable = 'fastify_conventions_operations'

/** What the contract needs to open stores in the tables of these pools. */
const setUpOf = (one: Pool, other: Pool) => ({
  async open() {
    await one.query(`DROP TABLE IF EXISTS ${defaultTable}`)
    const stores = [postgresOperationStore(one), postgresOperationStore(other)] as const
    await stores[0].migrate()
    return stores
  },
})

t.test('in PostgreSQL', { skip }, async (t) => {
  const postgres = await postgresOf(t)

  const getTypeParser = (oid: number, format: 'text' | 'binary' = 'text') =>
    oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format)
  const pools = {
    'as pg makes them': {},
    'that read large integers as BigInt and isolate transactions from each other': {
      types: { getTypeParser } as unknown as typeof types,
      options: '-c default_transaction_isolation=serializable',
    },
  }
  for (const [which, config] of Object.entries(pools)) {
    const [one, other] = [poolOf(t, postgres.url, config), poolOf(t, postgres.url, config)]
    await keepsContract(t, operationStoreContract(setUpOf(one, other)), `pools ${which}: `)
  }

  const one = poolOf(t, postgres.url)
  const store = postgresOperationStore(one)
  await one.query(`DROP TABLE ${defaultTable}`)
  await store.migrate()
  const empty = () => one.query(`TRUNCATE ${defaultTable}`)
  const storeIn = (t: Test, schema: string, more = '') =>
    postgresOperationStore(poolOf(t, postgres.url, { max: 2, options: `-c search_path=${schema} ${more}` }))

  await t.test('heartbeats change no index, and do not write the input again', async (t) => {
    const input = JSON.stringify(randomBytes(20_000).toString('base64'))
    const records: OperationRecord[] = []
    for (let number = 0; number < 50; number += 1) {
      const record = started({ owner: '42', requestId: 'a'.repeat(50) })
      await store.create(record, number % 2 === 0 ? input : '{"id":"7"}')
      records.push(sure(claim(record, time, { runUntil: time + 100, dueAt: time + 100, takesOver: false })))
      await store.replace(record, sure(records.at(-1)))
    }
    const figures = async () => {
      const { rows } = await one.query(
        `SELECT record.n_tup_upd::int AS updates, record.n_tup_hot_upd::int AS hot, input.n_tup_ins::int AS inputs
FROM pg_stat_all_tables AS record JOIN pg_class ON oid = record.relid JOIN pg_stat_all_tables AS input ON input.relid = reltoastrelid
WHERE record.relname = $1`,
        [defaultTable],
      )
      return rows[0] as { updates: number; hot: number; inputs: number }
    }
    const before = await untilEnough(figures, ({ updates }) => updates === 50)
    t.ok(before.inputs >= 25, `${before.inputs} pieces of inputs`)
    for (let beat = 1; beat <= 20; beat += 1) {
      for (const [place, record] of records.entries()) {
        const next = sure(renew(record, 1, beat / 20, time, time + beat))
        records[place] = next
        if (!(await store.replace(record, next))) t.fail('no heartbeat')
      }
    }
    const after = await untilEnough(figures, ({ updates }) => updates === 1_050)
    t.ok(after.hot - before.hot >= 950, `${after.hot - before.hot} of 1,000 are HOT`)
    t.equal(after.inputs, before.inputs)
  })

  await t.test('a database without the table, or with another, says what to run', async (t) => {
    const unusable = (why: string) =>
      RegExp(`^the table ${defaultTable} cannot be used: ${why} does not exist`)
    const missing = storeIn(t, 'nowhere')
    await t.rejects(missing.check(), unusable('relation "[a-z_]+"'))
    await t.rejects(missing.check(), /Run migrate\(\) of the store, or the SQL/)
    await t.rejects(missing.migrate(), /no schema has been selected/)

    await one.query(
      `CREATE SCHEMA taken; CREATE TABLE taken.${defaultTable} (id text PRIMARY KEY, version integer)`,
    )
    const taken = storeIn(t, 'taken')
    await t.rejects(taken.check(), unusable('column "record_schema"'))
    await t.rejects(taken.migrate(), /column "status" does not exist/)
    await t.rejects(taken.check(), unusable('column "record_schema"'), 'nothing has changed')
  })

  await t.test('five processes that start at once set the table up together', async (t) => {
    for (let round = 0; round < 10; round += 1) {
      await one.query(`CREATE SCHEMA round_${round}`)
      const stores = Array.from({ length: 5 }, () => storeIn(t, `round_${round}`))
      await t.resolves(Promise.all(stores.map((each) => each.migrate())))
      await t.resolves(Promise.all(stores.map((each) => each.check())))
    }
  })

  await t.test('a role that may not create the table may use it, once its owner ran the SQL', async (t) => {
    await one.query('CREATE ROLE service; CREATE SCHEMA owned; GRANT USAGE ON SCHEMA owned TO service')
    const service = storeIn(t, 'owned', '-c role=service')
    await t.rejects(service.migrate(), /permission denied for schema/)
    await storeIn(t, 'owned').migrate()
    await t.rejects(service.check(), /permission denied for table fastify_conventions_operations/)
    await one.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON owned.${defaultTable} TO service`)
    await service.migrate()
    await service.check()
    const record = started()
    t.equal(await service.create(record, null), true)
    t.same(await service.takeDue(time, time, 1), [record])
  })

  await t.test('a record of a later release is refused, and left to that release', async (t) => {
    await empty()
    const record = started({ owner: '42' })
    await store.create({ ...record, schema: 2 } as unknown as OperationRecord, null)
    await t.rejects(store.get(record.id), /stored with schema 2; this release reads schema 1/)
    t.same(await store.takeDue(time, time + 9, 10), [])
    t.same(await store.list('42', { limit: 10 }), [])
    const { rows } = await one.query(`SELECT due_at::text FROM ${defaultTable}`)
    t.same(rows, [{ due_at: String(time) }])
  })

  await t.test('of 10,000 records only those asked for are read', async (t) => {
    await empty()
    await one.query(
      `INSERT INTO ${defaultTable} (id, version, record_schema, status, due_at, document, owner, created_at)
       SELECT md5(number::text), 1, 1, CASE number % 2 WHEN 0 THEN 'Failed' ELSE 'In progress' END, ${time} + number, '{"status":"Failed"}', number % 100,
       ${time} + number FROM generate_series(1, 10000) AS number`,
    )
    await one.query(`ANALYZE ${defaultTable}`)
    const statements: Parameters<PostgresPool['query']>[] = []
    const query: PostgresPool['query'] = async (...statement) => {
      statements.push(statement)
      return { rows: [], rowCount: 0 }
    }
    const spied = postgresOperationStore({ query })
    await spied.takeDue(time + 9_000, time + 99_000, 50)
    await spied.expire(time + 9_000, 50)
    await spied.get('a')
    await spied.input('a')
    await spied.replace(started(), started())
    await spied.replace(started(), ended(started()))
    await spied.list('8', { limit: 50 })
    await spied.list('8', { limit: 50, before: { createdAt: time + 9_000, id: '' } })
    t.equal(statements.length, 8)
    for (const [statement, values] of statements) {
      const { rows } = await one.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`, values)
      const plan = JSON.stringify(rows)
      t.notMatch(plan, /Seq Scan/, statement)
      const read = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by [A-Za-z ]+)":(\d+)/g)]
      t.ok(read.length > 0 && read.every(([, rows]) => Number(rows) <= 101), `reads ${read}`)
    }
  })
})

t.test('behind PgBouncer in transaction mode', { skip: skip || (await obstacleToPgBouncer()) }, async (t) => {
  const postgres = await postgresOf(t)
  const pooler = await startPgBouncer(postgres)
  t.teardown(() => pooler.stop())
  const [one, other] = [poolOf(t, pooler.url), poolOf(t, pooler.url)]
  await keepsContract(t, operationStoreContract(setUpOf(one, other)))
})

t.test('an invalid pool is an error', async (t) => {
  t.throws(() => postgresOperationStore({ connect: async () => null } as unknown as PostgresPool), {
    code: 'FST_CONV_OPTION_INVALID',
    message: /postgresOperationStore: the pool: expected a pool with query\(\)/,
  })
})
