import { type Migration, sql } from 'kysely'
import { firstId, migrate, migrations } from '../../examples/demo-server/migrations.js'
import { type Collection, collections } from './collections.js'
import { onEachDatabase } from './each-database.js'
import { query } from './query.js'

/** The names that the problems of the service go by, beside those of references. */
const otherConstraints: Readonly<Record<string, readonly string[]>> = {
  users: ['users_email_key'],
  friends: ['friends_user_id_friend_user_id_key', 'friends_not_self_check'],
}

await onEachDatabase(async (t, database) => {
  const names = async (text: string) =>
    (await query(database, { text })).map(({ name }) => String(name)).sort()

  await t.test('processes that start together migrate once', async (t) => {
    await Promise.all([migrate(database), migrate(database), migrate(database)])
    t.strictSame(await names('select name from kysely_migration'), Object.keys(migrations))
  })

  await t.test('an up-to-date database is not changed', async (t) => {
    const before = await query(database, { text: 'select * from kysely_migration' })
    await migrate(database)
    t.strictSame(await query(database, { text: 'select * from kysely_migration' }), before)
  })

  await t.test('a failed step is rolled back', async (t) => {
    const steps: Record<string, Migration> = {
      ...migrations,
      '9998-good': { up: async (db) => void (await sql`create table good (id bigint)`.execute(db)) },
      '9999-bad': {
        async up(db) {
          await sql`create table half (id bigint)`.execute(db)
          await sql`create nonsense`.execute(db)
        },
      },
    }
    await t.rejects(migrate(database, steps), /syntax error/)
    t.strictSame(
      await names(`select table_name as name from information_schema.tables where table_schema = 'public'`),
      [
        ...collections.map(({ name }) => name).sort((one, other) => one.localeCompare(other)),
        'finished_work',
        'invoices',
        'fastify_conventions_idempotency',
        'kysely_migration',
        'kysely_migration_lock',
        'retries',
      ].sort(),
    )
  })

  for (const collection of collections) {
    await t.test(`${collection.name}: the table matches the schema`, async (t) => {
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
      const expected = Object.entries(collection.fields).filter(([, { type }]) => Array.isArray(type))
      t.strictSame(nullable, expected.map(([name]) => name).sort())
    })

    await t.test(`${collection.name}: times have milliseconds`, async (t) => {
      const rows = await query(database, {
        text: `select datetime_precision as digits from information_schema.columns
          where table_name = '${collection.name}' and data_type = 'timestamp with time zone'`,
      })
      t.ok(rows.length >= 2 && rows.every(({ digits }) => digits === 3))
    })

    await t.test(`${collection.name}: ids begin at the first id`, async (t) => {
      const sequence = `pg_get_serial_sequence('${collection.name}', 'id')`
      t.strictSame(await query(database, { text: `select nextval(${sequence}) as id` }), [{ id: firstId }])
    })
  }
})

function constraintsOf({ name, references }: Collection): string[] {
  return [...references.map((field) => `${name}_${field}_fkey`), ...(otherConstraints[name] ?? [])]
}
