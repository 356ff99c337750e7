import { ProblemError } from 'fastify-conventions'
import type { Queries } from '../../examples/demo-server/database.js'
import { onEachDatabase } from './each-database.js'
import { query } from './query.js'

await onEachDatabase(async (t, database) => {
  await t.test('every type comes back the same on both backends', async (t) => {
    const [row] = await query(database, {
      text: `select $1::bigint as id, $2::integer as age, $3::text as name, $4::boolean as flag, $5::timestamptz(3) as time,
        $6::jsonb as items, $7::text as nothing`,
      values: [9007199254740993n, 31, 'Ada', true, '2025-01-31T10:30:00.5+01:00', '[{"sku":"a"}]', null],
    })
    t.strictSame(row, {
      id: 9007199254740993n,
      age: 31,
      name: 'Ada',
      flag: true,
      time: '2025-01-31T09:30:00.500Z',
      items: [{ sku: 'a' }],
      nothing: null,
    })
  })

  await t.test('a transaction that fails is rolled back, and does not affect the next one', async (t) => {
    await query(database, { text: 'create table notes (id bigint primary key, text text not null)' })
    const insert = (queries: Queries, text: string) =>
      query(queries, { text: 'insert into notes values (1, $1)', values: [text] })
    for (const [text, expected] of [
      ['select 1', { message: 'changed my mind' }],
      ['select 1 / 0', { code: '22012' }],
    ] as const) {
      const failing = database.transaction().execute(async (queries) => {
        await insert(queries, 'lost')
        await query(queries, { text })
        throw new Error('changed my mind')
      })
      await t.rejects(failing, expected)
    }
    await database.transaction().execute((queries) => insert(queries, 'kept'))
    t.strictSame(await query(database, { text: 'select * from notes' }), [{ id: 1n, text: 'kept' }])
  })

  await t.test('errors that have no problem of their own are not changed', async (t) => {
    await query(database, { text: 'alter table notes add constraint small check (id < 10)' })
    const answers = 'create table answers (note_id bigint constraint answers_note references notes)'
    await query(database, { text: answers })
    for (const [text, code, constraint] of [
      [`insert into notes values (1, 'x')`, '23505', 'notes_pkey'],
      [`insert into notes values (11, 'x')`, '23514', 'small'],
      ['insert into answers values (7)', '23503', 'answers_note'],
      ['select * from nowhere', '42P01', undefined],
    ] as const) {
      const error = await query(database, { text }).catch((thrown: Error) => thrown)
      t.match(error, { code, constraint }, text)
      t.notOk(error instanceof ProblemError)
    }
  })
})
