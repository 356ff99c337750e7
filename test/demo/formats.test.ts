/** The demo sends items in XML and CSV too, and creates them from XML. */
import { firstId } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { serve } from './client.js'
import { onDatabase } from './each-database.js'

await onDatabase(async (t, database) => {
  const client = await serve(t, database)
  await seed(database)
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const { text: body, ...answer } = await client.call('GET', path, { headers })
    return { ...answer, body }
  }

  await t.test('lists are CSV, page by page, with exact ids', async (t) => {
    const page = await get('/v1/users?format=csv&fields=id,name&limit=2')
    const [header, ...rows] = page.body.trimEnd().split('\r\n')
    t.equal(header, 'id,id_str,name')
    t.equal(rows.length, 2)
    for (const row of rows) {
      const [id = '', twin] = row.split(',')
      t.ok(BigInt(id) >= BigInt(firstId), id)
      t.equal(id, twin)
    }
    t.match(page.headers.get('link'), /format=csv/)
    t.equal(
      (await get('/v1/orders?limit=1', { accept: 'text/csv' })).headers.get('content-disposition'),
      'attachment; filename="orders.csv"',
    )
  })

  await t.test('lists and items are XML, with tags of their own', async (t) => {
    const json = await get('/v1/orders?limit=1')
    const { orders } = JSON.parse(json.body) as { readonly orders: readonly { readonly id_str: string }[] }
    const id = orders[0]?.id_str ?? ''
    t.match((await get('/v1/orders?limit=1&format=xml')).body, `<order><id>${id}</id><id_str>${id}</id_str>`)
    const item = await get(`/v1/orders/${id}`, { accept: 'application/xml' })
    t.match(item.body, `<id>${id}</id>`)
    const tag = item.headers.get('etag') ?? ''
    t.match(tag, /--xml"$/)
    t.equal((await get(`/v1/orders/${id}`, { accept: 'application/xml', 'if-none-match': tag })).status, 304)
    t.equal((await get(`/v1/orders/${id}`, { 'if-none-match': tag })).status, 200)
    t.equal((await get(`/v1/orders/${id}?format=csv`)).status, 406)
  })

  await t.test('all collections have the same formats', async (t) => {
    for (const name of ['users', 'friends', 'orders', 'subscriptions', 'payments']) {
      const json = (await get(`/v1/${name}?limit=1&format=json`)).body
      const id = (Object.values(JSON.parse(json) as object)[0] as { readonly id_str: string }[])[0]?.id_str
      for (const format of ['json', 'xml', 'csv']) {
        const list = await get(`/v1/${name}?limit=1&format=${format}`)
        t.match(list, { status: 200, body: id }, `${name}: ${format}`)
        const item = await get(`/v1/${name}/${id}?format=${format}`)
        t.equal(item.status, format === 'csv' ? 406 : 200, `${name}: ${format}`)
      }
    }
  })
})
