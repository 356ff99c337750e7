/** A client by @hey-api/openapi-ts; `./hey-api/` is generated from the demo's document. */
import { setTimeout } from 'node:timers/promises'
import { client } from './hey-api/client.gen.js'
import * as api from './hey-api/index.js'

const ada = { name: 'Ada Lovelace', age: 36, gender: 'female' } as const
const items = [{ sku: 'mug', quantity: 1, unit_amount: 1290 }]

/** Create, conflict, update with `If-Match`, operation, and pages of ids beyond 2^53, in the client's own types. */
export async function drive(baseUrl: string, auth: string) {
  client.setConfig({ baseUrl, auth })
  const body = { ...ada, email: 'hey@example.com' }
  const { data: user } = await api.createUser({ body })
  const { error: conflict } = await api.createUser({ body })
  if (conflict?.status !== 409) throw new Error('not a conflict')
  // @ts-expect-error: the codes of a status are an enum
  if (conflict.code === 'already-there') throw new Error('another code')

  const path = { id: user?.id_str ?? '' }
  const { response } = await api.readUser({ path })
  const headers = { 'If-Match': response?.headers.get('etag') ?? '' }
  const { data: updated } = await api.updateUser({ path, headers, body: { age: 37 } })
  const { error: stale } = await api.updateUser({ path, headers, body: { age: 38 } })
  if (stale?.status !== 412) throw new Error('no precondition')

  const made: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const order = { user_id_str: path.id, total_amount: 1290, currency: 'EUR', items }
    const { data } = await api.createOrder({ body: order })
    if (data === undefined || !('user_id_str' in data)) throw new Error('no order')
    made.unshift(data.id_str)
  }
  const page = async (before_id?: string) => {
    const query = { user_id: path.id, limit: 2, ...(before_id !== undefined && { before_id }) }
    return (await api.listOrders({ query })).data?.orders.map(({ id_str }) => id_str ?? '') ?? []
  }
  const first = await page()

  const started = await api.verifyEmail({ path })
  const id = started.response?.headers.get('location')?.split('/').at(-1) ?? ''
  const stateOf = async () => (await api.readOperationStatus({ path: { id } })).data?.status
  while ((await stateOf()) === 'In progress') await setTimeout(25)
  const codes = [conflict.code, stale.code]
  return {
    id: path.id,
    age: updated?.age,
    codes,
    made,
    read: [...first, ...(await page(first[1]))],
    end: await stateOf(),
  }
}
