import { ConstraintViolation } from '../../examples/demo-server/database.js'
import { onEachDatabase } from './each-database.js'

await onEachDatabase(async (t, database) => {
  await t.test('every type comes back the same on both backends', async (t) => {
    const [row] = await database.query({
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
      const [row] = await database.query({ text: 'select $1::timestamptz(3) as time', values: [stored] })
      t.strictSame(row, { time: read })
    }
  })

  await t.test('a rejected transaction is rolled back', async (t) => {
    await database.query({ text: 'create table notes (id bigint primary key, text text not null)' })
    const failing = database.transaction(async (queries) => {
      await queries.query({ text: 'insert into notes values (1, $1)', values: ['lost'] })
      throw new Error('changed my mind')
    })
    await t.rejects(failing, { message: 'changed my mind' })
    t.strictSame(await database.query({ text: 'select * from notes' }), [])

    const result = await database.transaction(async (queries) => {
      await queries.query({ text: 'insert into notes values (1, $1)', values: ['kept'] })
      return 'done'
    })
    t.equal(result, 'done')
    t.strictSame(await database.query({ text: 'select * from notes' }), [{ id: 1n, text: 'kept' }])
  })

  await t.test('violations of constraints have a kind, other errors are not changed', async (t) => {
    const errorOf = (text: string) => database.query({ text }).catch((error: unknown) => error)
    await database.query({ text: 'alter table notes add constraint small check (id < 10)' })
    await database.query({
      text: 'create table answers (note_id bigint constraint answers_note references notes)',
    })
    t.match(await errorOf(`insert into notes values (1, 'x')`), {
      kind: 'unique',
      constraint: 'notes_pkey',
      table: 'notes',
    })
    t.match(await errorOf(`insert into notes values (11, 'x')`), {
      kind: 'check',
      constraint: 'small',
      table: 'notes',
    })
    const dangling = await errorOf('insert into answers values (7)')
    t.match(dangling, { kind: 'reference', constraint: 'answers_note', table: 'answers' })
    t.ok(dangling instanceof ConstraintViolation)
    const unknown = await errorOf('select * from nowhere')
    t.ok(unknown instanceof Error && !(unknown instanceof ConstraintViolation))
  })

  await t.test('a failed transaction does not affect the next one', async (t) => {
    for (let round = 0; round < 20; round++) {
      const broken = database.transaction((queries) => queries.query({ text: 'select 1 / 0' }))
      await t.rejects(broken, { code: '22012' })
    }
    t.strictSame(await database.query({ text: 'select 1 as one' }), [{ one: 1 }])
  })

  await t.test('concurrent transactions both take effect', async (t) => {
    await database.query({ text: 'create table counters (value integer not null)' })
    await database.query({ text: 'insert into counters values (0)' })
    const count = () =>
      database.transaction(async (queries) => {
        const [row] = await queries.query({ text: 'select value from counters for update' })
        await queries.query({ text: 'update counters set value = $1', values: [Number(row?.value) + 1] })
      })
    await Promise.all(Array.from({ length: 20 }, count))
    t.strictSame(await database.query({ text: 'select value from counters' }), [{ value: 20 }])
  })
})
