/** The registry of operations in PostgreSQL: a real server, and two pools of connections to it. */
import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool, type PoolConfig, types } from 'pg'
import t, { type Test } from 'tap'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { begin } from '../../../../src/plugins/operations/transitions.js'
import { type PostgresPool, postgresOperationStore } from '../../../../src/stores/postgres.js'
import { operationStoreContract } from '../../../../src/testing/operation-store-contract.js'
import { manualClock } from '../../../support/manual-clock.js'
import { obstacleToPostgres, type PrivatePostgres, startPostgres } from '../../../support/postgres.js'
import { answersAsInMemory } from './store-model.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const defaultTable = 'fastify_conventions_operations'
const time = Date.parse('2001-01-01T00:00:00Z')

function connect(t: Test, { url }: PrivatePostgres, config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: url, max: 4, ...config })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  return pool
}

function started(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = { name: 'work', owner: null, input: null, cancellable: true }
  return { ...begin(randomBytes(16).toString('hex'), operation, time, 0), ...over }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await isSo()); waited += 10) {
    if (waited > 10_000) throw new Error('it did not happen within 10 seconds')
    await wait(10)
  }
}

t.test('in PostgreSQL', { skip }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())

  const pools = {
    'as pg makes them': {},
    'that read large integers as BigInt and isolate transactions from each other': {
      types: {
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format ?? 'text'),
      } as unknown as NonNullable<PoolConfig['types']>,
      options: '-c default_transaction_isolation=serializable',
    },
  } satisfies Readonly<Record<string, PoolConfig>>
  for (const [which, config] of Object.entries(pools)) {
    const [one, other] = [connect(t, postgres, config), connect(t, postgres, config)]
    const open = async () => {
      await one.query(`DROP TABLE IF EXISTS ${defaultTable}`)
      const stores = [postgresOperationStore(one), postgresOperationStore(other)] as const
      await stores[0].migrate()
      return stores
    }
    for (const { name, run } of operationStoreContract({ open })) {
      await t.test(`pools ${which}: ${name}`, async (t) => {
        await run()
        t.pass(name)
      })
    }
  }

  const [one, other] = [connect(t, postgres), connect(t, postgres)]
  const store = postgresOperationStore(one)
  await store.migrate()
  const empty = () => one.query(`TRUNCATE ${defaultTable}`)

  await t.test('two views answer as the store in memory does, also at the same time', async (t) => {
    await answersAsInMemory(async () => {
      await empty()
      return [postgresOperationStore(one), postgresOperationStore(other)]
    }, false)
    t.pass('for all that was made up')
  })

  await t.test('a database without the table, or with another, says what to run', async (t) => {
    const missing = postgresOperationStore(one, { table: 'nowhere' })
    await t.rejects(missing.check(), {
      message:
        'there is no table "nowhere". Run migrate() of the store, or the SQL in its property migration, as the owner of the table; a right is granted by GRANT',
    })
    await t.rejects(
      postgresOperationStore(one, { table: 'no.where' }).migrate(),
      /schema "no" does not exist/,
    )

    await one.query('CREATE TABLE taken (id text PRIMARY KEY, version integer NOT NULL, document jsonb)')
    const taken = postgresOperationStore(one, { table: 'taken' })
    const fault =
      /^the table "taken" lacks: column version bigint, column form integer, .*column document text, index taken_due/
    await t.rejects(taken.check(), { message: fault })
    await t.rejects(taken.migrate(), /column "is_final" does not exist/)
    await t.rejects(taken.check(), { message: fault }, 'nothing has changed')

    const part = postgresOperationStore(one, { table: 'part' })
    await part.migrate()
    await one.query('DROP INDEX part_final')
    await t.rejects(part.check(), { message: /^the table "part" lacks: index part_final\./ })
    await part.migrate()
    await part.check()
  })

  await t.test('five processes that start at once set the table up together', async (t) => {
    const starting = Array.from({ length: 5 }, () => connect(t, postgres))
    for (let round = 0; round < 10; round += 1) {
      const stores = starting.map((pool) => postgresOperationStore(pool, { table: `round_${round}` }))
      await Promise.all(stores.map((each) => each.migrate()))
      for (const each of stores) await each.check()
    }
    t.pass('ten times')
  })

  await t.test('a role that may not create the table may use it, once its owner ran the SQL', async (t) => {
    await one.query('CREATE ROLE service; CREATE SCHEMA owned; GRANT USAGE ON SCHEMA owned TO service')
    const itsPool = connect(t, postgres, { options: '-c role=service' })
    const service = postgresOperationStore(itsPool, { table: 'owned.operations' })
    await t.rejects(service.migrate(), /permission denied for schema/)
    await one.query(service.migration)
    await t.rejects(
      service.check(),
      /lacks: right to SELECT, right to INSERT, right to UPDATE, right to DELETE/,
    )
    await one.query('GRANT SELECT, INSERT, UPDATE, DELETE ON owned.operations TO service')
    await service.migrate()
    await service.check()
    const record = started()
    t.equal(await service.create(record), true)
    t.same(await service.due(time, 1), [record])
  })

  await t.test('a table has the name that it was given, and knows nothing of another', async (t) => {
    await one.query('CREATE SCHEMA "Jobs"')
    const shop = postgresOperationStore(one, { table: 'Jobs.Operations' })
    await shop.migrate()
    await empty()
    const record = started()
    await shop.create(record)
    t.equal((await one.query('SELECT * FROM "Jobs"."Operations"')).rowCount, 1)
    t.equal(await store.get(record.id), null)

    const heard: string[] = []
    const stop = await store.onCancel((id) => heard.push(id))
    await shop.announceCancel('theirs')
    await store.announceCancel('ours')
    await until(() => heard.includes('ours'))
    t.same(heard, ['ours'])
    await stop()

    const longest = 'o'.repeat(50)
    await postgresOperationStore(one, { table: longest }).migrate()
    await postgresOperationStore(one, { table: longest }).check()
  })

  await t.test('what somebody garbled is told once, and not in the way of what is due', async (t) => {
    for (const document of ['', '{', '[]', '{"schema":1}']) {
      await empty()
      const [bad, good] = [started(), started({ dueAt: time + 1 })]
      for (const record of [bad, good]) await store.create(record)
      await one.query(`UPDATE ${defaultTable} SET document = $2 WHERE id = $1`, [bad.id, document])
      await t.rejects(store.get(bad.id), /operation/, document)
      await t.rejects(store.due(time + 1, 1), /operation/, document)
      t.same(await store.due(time + 1, 1), [good])
      const { rows } = await one.query(`SELECT document FROM ${defaultTable} WHERE id = $1`, [bad.id])
      t.same(rows, [{ document }], 'it can be looked at')
    }
  })

  await t.test('a record of another release is refused, and left to it', async (t) => {
    await empty()
    const record = started()
    await store.create({ ...record, schema: 2 } as unknown as OperationRecord)
    await t.rejects(store.get(record.id), /stored in form 2; this release supports only form 1/)
    t.same(await store.due(time, 10), [])
    const { rows } = await one.query(`SELECT due_at::text FROM ${defaultTable}`)
    t.same(rows, [{ due_at: String(time) }])
  })

  await t.test('of 10,000 records only those asked for are read', async (t) => {
    await empty()
    await one.query(
      `INSERT INTO ${defaultTable} SELECT md5(number::text), 1, 1, number % 2 = 0, ${time} + number, '{}'
       FROM generate_series(1, 10000) AS number`,
    )
    await one.query(`ANALYZE ${defaultTable}`)
    const statements: (readonly [string, unknown[] | undefined])[] = []
    const spied = postgresOperationStore({
      query: async (statement, values) => {
        statements.push([statement, values])
        return { rows: [], rowCount: 0 }
      },
      connect: () => one.connect(),
    })
    await spied.due(time + 9_000, 50)
    await spied.expire(time + 9_000, 50)
    await spied.get('a')
    await spied.replace(started())
    t.equal(statements.length, 4)
    for (const [statement, values] of statements) {
      const { rows } = await one.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`, values)
      const plan = JSON.stringify(rows)
      t.notMatch(plan, /Seq Scan|"Sort"/, statement)
      const read = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by [A-Za-z ]+)":(\d+)/g)]
      t.ok(read.length > 0 && read.every(([, rows]) => Number(rows) <= 50), `reads ${read}`)
    }
  })

  await t.test('who listens is told again after the connection broke', async (t) => {
    const heard: string[] = []
    const alsoHeard: string[] = []
    const stop = await store.onCancel((id) => heard.push(id))
    const stopOther = await postgresOperationStore(other).onCancel((id) => alsoHeard.push(id))
    for (const round of ['first', 'second']) {
      const { rowCount } = await one.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`,
      )
      t.equal(rowCount, 2)
      await until(async () => {
        await store.announceCancel(round)
        return heard.includes(round) && alsoHeard.includes(round)
      })
    }
    await stop()
    await stopOther()
    const listening = async () =>
      (await one.query(`SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`)).rowCount
    await until(async () => (await listening()) === 0)
    t.pass('who stops lets go of the connection')
  })
})

t.test('listening', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00.000Z')
  const setUp = () => {
    const connections: (EventEmitter & { released: unknown[] })[] = []
    const pool = {
      isAway: false,
      refusesListen: false,
      attempts: 0,
      query: async () => ({ rows: [], rowCount: 0 }),
      async connect() {
        pool.attempts += 1
        if (pool.isAway) throw new Error('away')
        const released: unknown[] = []
        const connection = Object.assign(new EventEmitter(), {
          released,
          query: async () => {
            if (pool.refusesListen) throw new Error('refused')
          },
          release: (isToEnd: boolean) => void released.push(isToEnd),
        })
        connections.push(connection)
        return connection
      },
    }
    const heard: string[] = []
    const store = postgresOperationStore(pool, { table: 'ops', schedule: clock.schedule })
    return { pool, connections, heard, listen: () => store.onCancel((id) => heard.push(id)) }
  }

  await t.test('is tried again, ever less often, as long as the database is away', async (t) => {
    const { pool, connections, heard, listen } = setUp()
    const stop = await listen()
    pool.isAway = true
    // A connection that breaks says so in more than one way.
    connections[0]?.emit('error', new Error('terminated'))
    connections[0]?.emit('end')
    connections[0]?.emit('error', new Error('again'))
    t.same(connections[0]?.released, [true])
    for (const delay of [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]) {
      const { attempts } = pool
      t.equal(clock.waiting(), 1)
      await clock.advance(delay - 1)
      t.equal(pool.attempts, attempts)
      await clock.advance(1)
      t.equal(pool.attempts, attempts + 1, `after ${delay} ms`)
    }
    pool.isAway = false
    await clock.advance(5_000)
    connections[0]?.emit('notification', { channel: 'c', payload: 'ops late' })
    connections[1]?.emit('notification', { channel: 'c', payload: 'ops 1' })
    connections[1]?.emit('notification', { channel: 'c', payload: 'ops_2 2' })
    connections[1]?.emit('notification', { channel: 'c' })
    t.same(heard, ['1'])

    connections[1]?.emit('end')
    await clock.advance(100)
    t.equal(connections.length, 3, 'soon again, once it was there')
    await stop()
    await stop()
    connections[2]?.emit('notification', { channel: 'c', payload: 'ops 3' })
    connections[2]?.emit('error', new Error('terminated'))
    t.same(heard, ['1'])
    t.same(connections[2]?.released, [true])
    t.equal(clock.waiting(), 0)
  })

  await t.test('ends while it waits to try again, or is trying', async (t) => {
    const { pool, connections, listen } = setUp()
    const stop = await listen()
    connections[0]?.emit('end')
    await stop()
    t.equal(clock.waiting(), 0)

    const stopOther = await listen()
    connections[1]?.emit('end')
    const trying = clock.advance(100)
    await stopOther()
    await trying
    t.equal(connections.length, pool.attempts)
    t.same(connections.at(-1)?.released, [true])
    t.equal(clock.waiting(), 0)

    const stopLast = await listen()
    connections.at(-1)?.emit('end')
    pool.isAway = true
    const failing = clock.advance(100)
    await stopLast()
    await failing
    t.equal(clock.waiting(), 0)
  })

  await t.test('rejects where it cannot begin, and keeps no connection', async (t) => {
    const { pool, connections, listen } = setUp()
    pool.isAway = true
    await t.rejects(listen(), /away/)
    pool.isAway = false
    pool.refusesListen = true
    await t.rejects(listen(), /refused/)
    connections[0]?.emit('end')
    t.same(connections[0]?.released, [true])
    t.equal(clock.waiting(), 0)
  })
})

t.test('a pool that is none, and options that are none, are told at once', async (t) => {
  const pool = new Pool({ max: 2 })
  t.throws(() => postgresOperationStore({ query: async () => null } as unknown as PostgresPool), {
    code: 'FST_CONV_OPTION_INVALID',
    message: /postgresOperationStore: the pool: expected a pool with query\(\) and connect\(\)/,
  })
  t.throws(() => postgresOperationStore(new Pool({ max: 1 })), /expected a pool of two connections or more/)
  for (const table of ['', 'a.b.c', 'a"b', 'a b', '1a', 'a-b', '.a', 'o'.repeat(51), 'ä', 'a\n']) {
    t.throws(() => postgresOperationStore(pool, { table }), /postgresOperationStore\.table: expected/, table)
  }
  t.throws(() => postgresOperationStore(pool, { schedule: 5 } as object), /\.schedule: expected a function/)
  t.throws(() => postgresOperationStore(pool, { prefix: 'a' } as object), { code: 'FST_CONV_OPTION_UNKNOWN' })
})
