import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { defaultSeedSize, seedRows } from '../../examples/demo-server/seed-data.js'
import { type Client, itemsOf, type Json, serve, walk } from './client.js'
import { collections, readOnlyFields } from './collections.js'
import { onEachDatabase } from './each-database.js'
import { sampleOf } from './samples.js'

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)

  await t.test('of processes that start together, one fills the empty database', async (t) => {
    t.same((await Promise.all([seed(database), seed(database)])).sort(), [false, true])
    t.equal((await everything(client, 'users')).length, 40)
  })

  await t.test('the API returns the sample data, which is the same every time and valid', async (t) => {
    const rows: Readonly<Record<string, readonly object[]>> = seedRows(defaultSeedSize)
    for (const { name, fields } of collections) {
      const shown = await everything(client, name)
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
    for (const [name, member, count] of [
      ['orders', 'status', 5],
      ['subscriptions', 'status', 3],
      ['payments', 'status', 4],
      ['payments', 'failure_reason', 3],
    ] as const) {
      const values = (await everything(client, name)).map((item) => item[member])
      t.equal(new Set(values).size, count, `${name}: ${member}`)
    }
    for (const name of ['users', 'orders']) {
      const times = (await everything(client, name)).map(({ created_at }) => created_at)
      t.ok(new Set(times).size < times.length, `some ${name} share a time`)
    }
  })

  await t.test('the next id comes after the seeded ones', async (t) => {
    const { json } = await client.post('/v1/users', sampleOf.users())
    t.equal(json.id, firstId + BigInt(defaultSeedSize.users))
  })
})

async function everything(client: Client, name: string): Promise<Json[]> {
  return (await walk(client, `/v1/${name}?limit=200&fields=*`)).flatMap((page) => itemsOf(page, name))
}

function withTwins(row: object): Json {
  const twins = Object.entries(row).filter(([, value]) => typeof value === 'bigint')
  return { ...row, ...Object.fromEntries(twins.map(([name, value]) => [`${name}_str`, String(value)])) }
}
