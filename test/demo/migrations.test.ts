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
    const tables = `select table_name as name from information_schema.tables where table_name in ('good', 'half')`
    t.strictSame(await names(tables), [])
    t.strictSame(await names('select name from kysely_migration'), Object.keys(migrations))
  })

  for (const collection of collections) {
    const { name, fields } = collection
    await t.test(`${name}: the table matches the schema, and ids begin at the first id`, async (t) => {
      const columns = await query(database, {
        text: `select column_name as name, is_nullable = 'YES' as is_nullable, datetime_precision as digits, data_type as type
          from information_schema.columns where table_name = '${name}'`,
      })
      const expected = ['id', ...Object.keys(fields), 'created_at', 'updated_at']
      t.strictSame(columns.map((column) => column.name).sort(), expected.sort())
      const nullable = Object.entries(fields).filter(([, { type }]) => Array.isArray(type))
      const isNullable = columns.filter((column) => column.is_nullable)
      t.strictSame(isNullable.map((column) => column.name).sort(), nullable.map(([field]) => field).sort())
      const times = columns.filter(({ type }) => type === 'timestamp with time zone')
      t.ok(times.length >= 2 && times.every(({ digits }) => digits === 3), 'milliseconds')
      const present = await names(
        `select conname as name from pg_constraint where conrelid = '${name}'::regclass
         union select indexname from pg_indexes where tablename = '${name}'`,
      )
      for (const one of [...constraintsOf(collection), `${name}_created_at_idx`])
        t.ok(present.includes(one), one)
      const text = `select nextval(pg_get_serial_sequence('${name}', 'id')) as id`
      t.strictSame(await query(database, { text }), [{ id: firstId }])
    })
  }
})

function constraintsOf({ name, references }: Collection): string[] {
  return [...references.map((field) => `${name}_${field}_fkey`), ...(otherConstraints[name] ?? [])]
}
