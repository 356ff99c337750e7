/** Ids beyond 2^53: all digits are kept, on both databases. */
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { itemsOf, serve, walk } from './client.js'
import { collections } from './collections.js'
import { onEachDatabase } from './each-database.js'
import { sampleOf } from './samples.js'

/** Rounds to the same Number as the first id, and is another integer. */
const neighbour = firstId - 1n

await onEachDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database)

  await t.test('every id and reference of every item is beyond 2^53', async (t) => {
    for (const { name, references } of collections) {
      const pages = await walk(client, `/v1/${name}?limit=200`)
      const items = pages.flatMap((page) => itemsOf(page, name))
      t.ok(items.length > 10, name)
      for (const field of ['id', ...references])
        t.ok(
          items.every((item) => (item[field] as bigint) > 2n ** 53n),
          `${name}: ${field}`,
        )
    }
  })

  await t.test('an id that rounds to the same Number is that of no other item', async (t) => {
    const path = `/v1/users/${neighbour}`
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', {}], ['PUT', sampleOf.users()]] as const)
      t.match(await client.call(method, path, { body }), { status: 404 }, method)
    t.strictSame((await client.get(`/v1/orders?user_id=${neighbour}`)).json, { orders: [] }, 'nor a filter')
  })

  for (const { name, references } of collections) {
    for (const field of references) {
      const path = `/v1/${name}/${firstId}`
      const twin = `${field}_str`
      await t.test(`${name}: ${field} is exact, as a number or as its twin`, async (t) => {
        const { json } = await client.get(path)
        const id = json[field] as bigint
        for (const given of [
          { [field]: id },
          { [twin]: String(id) },
          { [field]: Number(id), [twin]: String(id) },
        ]) {
          const answer = await client.patch(path, given)
          t.match(answer, { status: 200, json: { [field]: id, [twin]: String(id) } })
        }
        for (const [given, status, code] of [
          [{ [field]: neighbour }, 422, 'reference-not-found'],
          [{ [twin]: String(neighbour) }, 422, 'reference-not-found'],
          [{ [field]: id, [twin]: String(id + 10n) }, 400, 'integer-twin-mismatch'],
          [{ [field]: 2n ** 63n }, 400, 'validation'],
        ] as const)
          t.match(
            await client.patch(path, given),
            { status, json: { code } },
            `${Object.keys(given)} ${code}`,
          )
        t.strictSame((await client.get(path)).json, json, 'nothing was changed')
      })
    }
  }

  await t.test('amounts are plain integers, up to the largest safe one', async (t) => {
    const total_amount = Number.MAX_SAFE_INTEGER
    const { text } = await client.patch(`/v1/orders/${firstId}`, { total_amount })
    t.match(text, '"total_amount":9007199254740991,"currency"')
  })
})
