import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { defaultSeedSize, seedRows } from '../../examples/demo-server/seed-data.js'
import { type Client, itemsOf, type Json, serve, walk } from './client.js'
import { collections, readOnlyFields } from './collections.js'
import { onEachDatabase } from './each-database.js'
import { sampleOf } from './samples.js'

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)

  await t.test('the data is the same every time', async (t) => {
    t.strictSame(seedRows(defaultSeedSize), seedRows(defaultSeedSize))
  })

  await t.test('of processes that start together, one fills the empty database', async (t) => {
    const filled = await Promise.all([seed(database), seed(database)])
    t.same(filled.sort(), [false, true])
  })

  await t.test('the API returns the sample data', async (t) => {
    const rows: Readonly<Record<string, readonly object[]>> = seedRows(defaultSeedSize)
    for (const { name } of collections) {
      const shown = await everything(client, name)
      t.same(shown, rows[name]?.toReversed().map(withTwins), name)
    }
  })

  await t.test('the sample data has an example for every convention', async (t) => {
    const payments = await everything(client, 'payments')
    const reasons = new Set(payments.map(({ failure_reason }) => failure_reason))
    t.same([...reasons].sort(), ['insufficient_funds', 'timeout', null].sort())
    for (const [name, count] of [
      ['users', 40],
      ['orders', 60],
    ] as const) {
      const rows = await everything(client, name)
      t.equal(rows.length, count)
      t.ok(new Set(rows.map(({ created_at }) => created_at)).size < count, `some ${name} share a time`)
    }
    for (const [name, states] of [
      ['orders', 5],
      ['subscriptions', 3],
      ['payments', 4],
    ] as const) {
      const rows = await everything(client, name)
      t.equal(new Set(rows.map(({ status }) => status)).size, states, `${name} in every status`)
    }
  })

  await t.test('all sample data is valid input', async (t) => {
    for (const { name, fields } of collections) {
      for (const row of await everything(client, name)) {
        const writable = Object.entries(row).filter(
          ([field]) => field in fields && !readOnlyFields.includes(field),
        )
        const { status, text } = await client.put(`/v1/${name}/${row.id}`, Object.fromEntries(writable))
        if (status !== 200) t.fail(`${name} ${row.id}: ${text}`)
      }
    }
    t.pass()
  })

  await t.test('the next id comes after the seeded ones', async (t) => {
    const { json } = await client.post('/v1/users', sampleOf.users())
    t.equal(json.id, firstId + BigInt(defaultSeedSize.users))
  })

  await t.test('a database with data is not changed', async (t) => {
    const before = await everything(client, 'users')
    t.equal(await seed(database), false)
    t.strictSame(await everything(client, 'users'), before)
  })
})

async function everything(client: Client, name: string): Promise<Json[]> {
  return (await walk(client, `/v1/${name}?limit=200&fields=*`)).flatMap((page) => itemsOf(page, name))
}

function withTwins(row: object): Json {
  const twins = Object.entries(row).filter(([, value]) => typeof value === 'bigint')
  return { ...row, ...Object.fromEntries(twins.map(([name, value]) => [`${name}_str`, String(value)])) }
}
