import { collections } from '../../examples/demo-server/collections/index.js'
import type { Collection } from '../../examples/demo-server/declaration.js'
import { migrate } from '../../examples/demo-server/migrate.js'
import { firstId, migrations } from '../../examples/demo-server/migrations.js'
import { onEachDatabase } from './each-database.js'

await onEachDatabase(async (t, database) => {
  const names = async (text: string) =>
    (await database.query({ text })).map(({ name }) => String(name)).sort()

  await t.test('processes that start together migrate once', async (t) => {
    await Promise.all([migrate(database), migrate(database), migrate(database)])
    t.strictSame(
      await names('select name from migrations'),
      migrations.map(({ name }) => name),
    )
  })

  await t.test('an up-to-date database is not changed', async (t) => {
    const before = await database.query({ text: 'select * from migrations' })
    await migrate(database)
    t.strictSame(await database.query({ text: 'select * from migrations' }), before)
  })

  await t.test('a failed step is rolled back', async (t) => {
    const steps = [
      ...migrations,
      { name: '9998-good', statements: ['create table good (id bigint)'] },
      { name: '9999-bad', statements: ['create table half (id bigint)', 'create nonsense'] },
    ]
    await t.rejects(migrate(database, steps), /syntax error/)
    t.strictSame(
      await names(`select table_name as name from information_schema.tables where table_schema = 'public'`),
      [
        ...collections.map(({ name }) => name).sort((one, other) => one.localeCompare(other)),
        'finished_work',
        'invoice_requests',
        'invoices',
        'migrations',
        'retries',
      ].sort(),
    )
  })

  for (const collection of collections) {
    await t.test(`${collection.name}: the table matches the declaration`, async (t) => {
      t.strictSame(
        await names(
          `select column_name as name from information_schema.columns where table_name = '${collection.name}'`,
        ),
        ['id', ...Object.keys(collection.fields), 'created_at', 'updated_at'].sort(),
      )
      const present = await names(
        `select conname as name from pg_constraint where conrelid = '${collection.name}'::regclass
         union select indexname from pg_indexes where tablename = '${collection.name}'`,
      )
      for (const name of constraintsOf(collection)) t.ok(present.includes(name), name)
      t.ok(present.includes(`${collection.name}_created_at_idx`), 'an index to page by time')
    })

    await t.test(`${collection.name}: columns are nullable where fields are`, async (t) => {
      const nullable = await names(
        `select column_name as name from information_schema.columns
         where table_name = '${collection.name}' and is_nullable = 'YES'`,
      )
      const expected = Object.entries(collection.fields).filter(([, { schema }]) =>
        Array.isArray(schema.type),
      )
      t.strictSame(nullable, expected.map(([name]) => name).sort())
    })

    await t.test(`${collection.name}: times have milliseconds`, async (t) => {
      const rows = await database.query({
        text: `select datetime_precision as digits from information_schema.columns
          where table_name = '${collection.name}' and data_type = 'timestamp with time zone'`,
      })
      t.ok(rows.length >= 2 && rows.every(({ digits }) => digits === 3))
    })

    await t.test(`${collection.name}: ids begin at the first id`, async (t) => {
      const sequence = `pg_get_serial_sequence('${collection.name}', 'id')`
      t.strictSame(await database.query({ text: `select nextval(${sequence}) as id` }), [{ id: firstId }])
    })
  }
})

/** The names that the problems of the service go by. */
function constraintsOf({ name, fields, unique = [], rules = [] }: Collection): string[] {
  const references = Object.keys(fields).filter((field) => fields[field]?.references !== undefined)
  return [
    ...unique.map(({ fields }) => `${name}_${fields.join('_')}_key`),
    ...references.map((field) => `${name}_${field}_fkey`),
    ...rules.map(({ constraint }) => constraint),
  ]
}
