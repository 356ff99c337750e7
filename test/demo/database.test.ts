import { ProblemError } from 'fastify-conventions'
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

  await t.test('times always have milliseconds', async (t) => {
    for (const [stored, read] of [
      ['2025-01-01T00:00:00Z', '2025-01-01T00:00:00.000Z'],
      ['2025-01-01T00:00:00.12Z', '2025-01-01T00:00:00.120Z'],
      ['1900-01-01T00:00:00.001+14:00', '1899-12-31T10:00:00.001Z'],
    ] as const) {
      const [row] = await query(database, { text: 'select $1::timestamptz(3) as time', values: [stored] })
      t.strictSame(row, { time: read })
    }
  })

  await t.test('a rejected transaction is rolled back', async (t) => {
    await query(database, {
      text: 'create table notes (id bigint primary key, text text not null)',
    })
    const failing = database.transaction().execute(async (queries) => {
      await query(queries, { text: 'insert into notes values (1, $1)', values: ['lost'] })
      throw new Error('changed my mind')
    })
    await t.rejects(failing, { message: 'changed my mind' })
    t.strictSame(await query(database, { text: 'select * from notes' }), [])

    const result = await database.transaction().execute(async (queries) => {
      await query(queries, { text: 'insert into notes values (1, $1)', values: ['kept'] })
      return 'done'
    })
    t.equal(result, 'done')
    t.strictSame(await query(database, { text: 'select * from notes' }), [{ id: 1n, text: 'kept' }])
  })

  await t.test('violations of constraints that have no problem of their own are not changed', async (t) => {
    const errorOf = (text: string) => query(database, { text }).catch((error: unknown) => error)
    await query(database, { text: 'alter table notes add constraint small check (id < 10)' })
    await query(database, {
      text: 'create table answers (note_id bigint constraint answers_note references notes)',
    })
    t.match(await errorOf(`insert into notes values (1, 'x')`), {
      code: '23505',
      constraint: 'notes_pkey',
      table: 'notes',
    })
    t.match(await errorOf(`insert into notes values (11, 'x')`), {
      code: '23514',
      constraint: 'small',
      table: 'notes',
    })
    const dangling = await errorOf('insert into answers values (7)')
    t.match(dangling, { code: '23503', constraint: 'answers_note', table: 'answers' })
    t.notOk(dangling instanceof ProblemError)
    const unknown = await errorOf('select * from nowhere')
    t.ok(unknown instanceof Error && !(unknown instanceof ProblemError))
  })

  await t.test('a failed transaction does not affect the next one', async (t) => {
    for (let round = 0; round < 20; round++) {
      const broken = database.transaction().execute((queries) => query(queries, { text: 'select 1 / 0' }))
      await t.rejects(broken, { code: '22012' })
    }
    t.strictSame(await query(database, { text: 'select 1 as one' }), [{ one: 1 }])
  })

  await t.test('concurrent transactions both take effect', async (t) => {
    await query(database, { text: 'create table counters (value integer not null)' })
    await query(database, { text: 'insert into counters values (0)' })
    const count = () =>
      database.transaction().execute(async (queries) => {
        const [row] = await query(queries, { text: 'select value from counters for update' })
        await query(queries, { text: 'update counters set value = $1', values: [Number(row?.value) + 1] })
      })
    await Promise.all(Array.from({ length: 20 }, count))
    t.strictSame(await query(database, { text: 'select value from counters' }), [{ value: 20 }])
  })
})
