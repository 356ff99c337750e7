/** The database: what its types, transactions, migrations and sample data are on both backends. */
import { ProblemError } from 'fastify-conventions'
import type { Queries } from '../../examples/demo-server/database.js'
import { firstId, migrate, migrations } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { defaultSeedSize, seedRows } from '../../examples/demo-server/seed-data.js'
import { itemsOf, type Json, serve, walk } from './client.js'
import { collections, readOnlyFields } from './collections.js'
import { onEachDatabase } from './databases.js'
import { query } from './query.js'
import { sampleOf } from './samples.js'

/** The names that the problems of the service go by, beside those of references. */
const otherConstraints: Readonly<Record<string, readonly string[]>> = {
  users: ['users_email_key'],
  friends: ['friends_user_id_friend_user_id_key', 'friends_not_self_check'],
}

await onEachDatabase(async (t, database) => {
  const names = async (text: string) => (await query(database, text)).map(({ name }) => String(name)).sort()

  await t.test('every type comes back the same on both backends', async (t) => {
    const [row] = await query(
      database,
      `select $1::bigint as id, $2::integer as age, $3::text as name, $4::boolean as flag, $5::timestamptz(3) as time,
        $6::jsonb as items, $7::text as nothing`,
      [9007199254740993n, 31, 'Ada', true, '2025-01-31T10:30:00.5+01:00', '[{"sku":"a"}]', null],
    )
    const exact = { id: 9007199254740993n, age: 31, name: 'Ada', flag: true, items: [{ sku: 'a' }] }
    t.strictSame(row, { ...exact, time: '2025-01-31T09:30:00.500Z', nothing: null })
  })

  await t.test('a transaction that fails is rolled back, and does not affect the next one', async (t) => {
    await query(database, 'create table notes (id bigint primary key, text text not null)')
    const insert = (queries: Queries, text: string) =>
      query(queries, 'insert into notes values (1, $1)', [text])
    const statements = { 'select 1': { message: 'changed my mind' }, 'select 1 / 0': { code: '22012' } }
    for (const [text, expected] of Object.entries(statements)) {
      const failing = database.transaction().execute(async (queries) => {
        await insert(queries, 'lost')
        await query(queries, text)
        throw new Error('changed my mind')
      })
      await t.rejects(failing, expected)
    }
    await database.transaction().execute((queries) => insert(queries, 'kept'))
    t.strictSame(await query(database, 'select * from notes'), [{ id: 1n, text: 'kept' }])
  })

  await t.test('errors that have no problem of their own are not changed', async (t) => {
    await query(database, 'alter table notes add constraint small check (id < 10)')
    const answers = 'create table answers (note_id bigint constraint answers_note references notes)'
    await query(database, answers)
    for (const [text, code, constraint] of [
      [`insert into notes values (1, 'x')`, '23505', 'notes_pkey'],
      [`insert into notes values (11, 'x')`, '23514', 'small'],
      ['insert into answers values (7)', '23503', 'answers_note'],
      ['select * from nowhere', '42P01', undefined],
    ] as const) {
      const error = await query(database, text).catch((thrown: Error) => thrown)
      t.match(error, { code, constraint }, text)
      t.notOk(error instanceof ProblemError)
    }
  })

  await t.test('processes that start together migrate once; a failed step is rolled back', async (t) => {
    await Promise.all([migrate(database), migrate(database), migrate(database)])
    t.strictSame(await names('select name from kysely_migration'), Object.keys(migrations))
    const up = (text: string) => ({ up: (db: Queries) => query(db, text).then(() => {}) })
    const steps = {
      ...migrations,
      '9998-good': up('create table good ()'),
      '9999-bad': up('create nonsense'),
    }
    await t.rejects(migrate(database, steps), /syntax error/)
    t.strictSame(
      await names(`select table_name as name from information_schema.tables where table_name = 'good'`),
      [],
    )
    t.strictSame(await names('select name from kysely_migration'), Object.keys(migrations))
  })

  for (const { name, fields, references } of collections) {
    await t.test(`${name}: the table matches the schema, and ids begin at the first id`, async (t) => {
      const text = `select column_name as name, is_nullable, datetime_precision as digits, data_type as type
        from information_schema.columns where table_name = '${name}'`
      const columns = await query(database, text)
      const expected = ['id', ...Object.keys(fields), 'created_at', 'updated_at']
      t.strictSame(columns.map((column) => column.name).sort(), expected.sort())
      const nullable = Object.entries(fields).filter(([, { type }]) => Array.isArray(type))
      const isNullable = columns.filter((column) => column.is_nullable === 'YES')
      t.strictSame(isNullable.map((column) => column.name).sort(), nullable.map(([field]) => field).sort())
      const times = columns.filter(({ type }) => type === 'timestamp with time zone')
      t.ok(times.length >= 2 && times.every(({ digits }) => digits === 3), 'milliseconds')
      const present = await names(
        `select conname as name from pg_constraint where conrelid = '${name}'::regclass
         union select indexname from pg_indexes where tablename = '${name}'`,
      )
      const keys = references.map((field) => `${name}_${field}_fkey`)
      for (const one of [...keys, ...(otherConstraints[name] ?? []), `${name}_created_at_idx`])
        t.ok(present.includes(one), one)
      const next = `select nextval(pg_get_serial_sequence('${name}', 'id')) as id`
      t.strictSame(await query(database, next), [{ id: firstId }])
      await query(database, `alter sequence ${name}_id_seq restart`)
    })
  }

  const client = await serve(t, database)
  const everything = async (name: string): Promise<Json[]> =>
    (await walk(client, `/v1/${name}?limit=200&fields=*`)).flatMap((page) => itemsOf(page, name))

  await t.test('of processes that start together, one fills the empty database', async (t) => {
    t.same((await Promise.all([seed(database), seed(database)])).sort(), [false, true])
    t.equal((await everything('users')).length, 40)
    const { json } = await client.post('/v1/users', sampleOf.users())
    t.equal(json.id, firstId + BigInt(defaultSeedSize.users), 'the next id comes after the seeded ones')
    await client.delete(`/v1/users/${json.id}`)
  })

  await t.test('the API returns the sample data, which is the same every time and valid', async (t) => {
    const rows: Readonly<Record<string, readonly object[]>> = seedRows(defaultSeedSize)
    for (const { name, fields } of collections) {
      const shown = await everything(name)
      t.same(shown, rows[name]?.toReversed().map(withTwins), name)
      const isWritable = ([field]: [string, unknown]) => field in fields && !readOnlyFields.includes(field)
      for (const row of shown) {
        const body = Object.fromEntries(Object.entries(row).filter(isWritable))
        const { status, text } = await client.put(`/v1/${name}/${row.id}`, body)
        if (status !== 200) t.fail(`${name} ${row.id}: ${text}`)
      }
    }
  })

  await t.test('the sample data has an example for every convention', async (t) => {
    const differing = async (name: string, member: string) =>
      new Set((await everything(name)).map((item) => item[member])).size
    const counts = { orders: 5, subscriptions: 3, payments: 4 }
    for (const [name, count] of Object.entries(counts)) t.equal(await differing(name, 'status'), count, name)
    t.equal(await differing('payments', 'failure_reason'), 3)
    for (const name of ['users', 'orders']) {
      const times = (await everything(name)).map(({ created_at }) => created_at)
      t.ok(new Set(times).size < times.length, `some ${name} share a time`)
    }
  })
})

function withTwins(row: object): Json {
  const twins = Object.entries(row).filter(([, value]) => typeof value === 'bigint')
  return { ...row, ...Object.fromEntries(twins.map(([name, value]) => [`${name}_str`, String(value)])) }
}
