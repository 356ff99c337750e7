/** A client by @hey-api/openapi-ts; `./hey-api/` is generated from the demo's document. */
import type { Drive } from './drive.js'
import { client } from './hey-api/client.gen.js'
import {
  createOrder,
  createUser,
  listOrders,
  readOperationStatus,
  readUser,
  updateUser,
  verifyEmail,
} from './hey-api/index.js'

export const drive: Drive = async ({ origin, token, pause }) => {
  client.setConfig({ baseUrl: origin, auth: token })
  const ada = { name: 'Ada Lovelace', age: 36, gender: 'female', email: 'ada@hey-api.test' } as const

  const { data: user, response: creation } = await createUser({ body: ada })
  if (user === undefined) throw new Error('not created')
  const id: string = user.id_str
  const path = { id }

  const { error: taken } = await createUser({ body: ada })
  if (taken?.status !== 409) throw new Error('not a conflict')
  // @ts-expect-error: the codes of a status are an enum
  const isOther = taken.code === 'already-there'

  const { response: read } = await readUser({ path })
  const headers = { 'If-Match': read?.headers.get('etag') ?? '' }
  const { data: older } = await updateUser({ path, headers, body: { age: 37 } })
  const { error: changed } = await updateUser({ path, headers, body: { age: 38 } })
  if (changed?.status !== 412) throw new Error('no precondition')

  // A user whose id a Number cannot hold is named by the digits.
  const orders: string[] = []
  for (const sku of ['mug', 'cup', 'jug']) {
    const item = { sku, quantity: 1, unit_amount: 1290 }
    const { data } = await createOrder({
      body: { user_id_str: id, total_amount: 1290, currency: 'EUR', items: [item] },
    })
    if (data === undefined || !('user_id_str' in data)) throw new Error('no order')
    if (data.user_id_str !== id) throw new Error('an order of another user')
    orders.unshift(data.id_str)
  }

  const { response: start } = await verifyEmail({ path })
  const operation = { id: start?.headers.get('location')?.split('/').at(-1) ?? '' }
  let state: 'In progress' | 'Succeeded' | 'Failed' | undefined = 'In progress'
  while (state === 'In progress') {
    await pause()
    const { data } = await readOperationStatus({ path: operation })
    state = data?.status
  }

  const listed: string[] = []
  for (let before: string | undefined = undefined, hasNext = true; hasNext; ) {
    const query: { user_id: string; limit: number; before_id?: string } = { user_id: id, limit: 2 }
    if (before !== undefined) query.before_id = before
    const { data, response } = await listOrders({ query })
    const ids = data?.orders.map(({ id_str }) => id_str ?? '') ?? []
    listed.push(...ids)
    before = ids.at(-1)
    hasNext = response?.headers.get('link')?.includes('rel="next"') ?? false
  }

  return {
    statuses: [creation?.status ?? 0, start?.status ?? 0],
    id,
    age: older?.age,
    codes: [taken.code, changed.code],
    isOther,
    state,
    orders,
    listed,
  }
}
