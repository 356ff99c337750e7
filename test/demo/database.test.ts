/** The database: what its types, transactions, migrations and sample data are on both backends. */
import { ProblemError } from 'fastify-conventions'
import { items } from '../../examples/demo-server/collections/index.js'
import type { Queries } from '../../examples/demo-server/database.js'
import { firstId, migrate, migrations } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { defaultSeedSize, seedRows } from '../../examples/demo-server/seed-data.js'
import { itemsOf, type Json, serve, walk } from './client.js'
import { onEachDatabase, query } from './databases.js'
import { sampleOf } from './samples.js'

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
    await query(database, 'create table notes (id bigint primary key check (id < 10))')
    const failing = database.transaction().execute(async (queries) => {
      await query(queries, 'insert into notes values (1)')
      await query(queries, 'select 1 / 0')
    })
    await t.rejects(failing, { code: '22012' })
    await database.transaction().execute((queries) => query(queries, 'insert into notes values (1)'))
    t.strictSame(await query(database, 'select * from notes'), [{ id: 1n }])
  })

  await t.test('errors that have no problem of their own are not changed', async (t) => {
    await query(database, 'create table answers (note_id bigint references notes)')
    for (const [text, code] of [
      ['insert into notes values (1)', '23505'],
      ['insert into notes values (11)', '23514'],
      ['insert into answers values (7)', '23503'],
    ] as const) {
      const error = await query(database, text).catch((thrown: Error) => thrown)
      t.match(error, { code }, text)
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
    await t.rejects(query(database, 'select * from good'), { code: '42P01' })
    t.strictSame(await names('select name from kysely_migration'), Object.keys(migrations))
  })

  for (const [name, { properties }] of Object.entries(items)) {
    await t.test(`${name}: the table matches the schema, and ids begin at the first id`, async (t) => {
      const text = `select column_name as name, is_nullable, datetime_precision as digits, data_type as type
        from information_schema.columns where table_name = '${name}'`
      const columns = await query(database, text)
      const namesOf = (some: readonly { readonly name?: unknown }[]) => some.map(({ name }) => name).sort()
      t.strictSame(namesOf(columns), Object.keys(properties).sort())
      const nullable = Object.entries(properties).filter(
        ([, schema]) => 'type' in schema && Array.isArray(schema.type),
      )
      const isNullable = columns.filter((column) => column.is_nullable === 'YES')
      t.strictSame(namesOf(isNullable), nullable.map(([field]) => field).sort())
      const times = columns.filter(({ type }) => type === 'timestamp with time zone')
      t.ok(times.length >= 2 && times.every(({ digits }) => digits === 3), 'milliseconds')
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
    for (const name of Object.keys(items)) {
      const shown = await everything(name)
      t.same(shown, rows[name]?.toReversed().map(withTwins), name)
      // What is read-only may be repeated.
      for (const { id_str: _, ...row } of shown) {
        const { status, text } = await client.put(`/v1/${name}/${row.id}`, row)
        if (status !== 200) t.fail(`${name} ${row.id}: ${text}`)
      }
    }
  })

  await t.test('the sample data has an example for every convention', async (t) => {
    const differing = async (name: string, member: string) =>
      new Set((await everything(name)).map((item) => item[member])).size
    const examples = {
      'orders status': 5,
      'subscriptions status': 3,
      'payments status': 4,
      'payments failure_reason': 3,
    }
    for (const [example, count] of Object.entries(examples)) {
      const [name = '', member = ''] = example.split(' ')
      t.equal(await differing(name, member), count, example)
    }
    t.ok((await differing('users', 'created_at')) < defaultSeedSize.users, 'some share a time')
  })
})

function withTwins(row: object): Json {
  const twins = Object.entries(row).filter(([, value]) => typeof value === 'bigint')
  return { ...row, ...Object.fromEntries(twins.map(([name, value]) => [`${name}_str`, String(value)])) }
}
