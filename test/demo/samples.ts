import type { Caller, Json } from './client.js'

/** A body that each collection takes, given what it refers to. */
export const sampleOf = {
  users: (email = 'ada@example.com') => ({ name: 'Ada Lovelace', age: 36, gender: 'female', email }),
  friends: (user_id: unknown, friend_user_id: unknown) => ({ user_id, friend_user_id }),
  orders: (user_id: unknown) => ({
    user_id,
    status: 'paid',
    total_amount: 2580,
    currency: 'EUR',
    items: [{ sku: 'mug-blue', quantity: 2, unit_amount: 1290 }],
  }),
  subscriptions: (user_id: unknown) => ({
    user_id,
    plan: 'plus',
    status: 'active',
    renews_at: '2026-01-01T00:00:00.000Z',
  }),
  payments: (order_id: unknown) => ({
    order_id,
    amount: 2580,
    currency: 'EUR',
    status: 'failed',
    failure_reason: 'timeout',
  }),
} as const

/** The collections, what others refer to first. */
export const collectionNames = Object.keys(sampleOf) as readonly CollectionName[]

export type CollectionName = keyof typeof sampleOf

let emails = 0

/** Creates a user whose address nobody else has. */
export async function newUser(client: Caller, fields: Json = {}): Promise<Json> {
  emails += 1
  const body = { ...sampleOf.users(`person.${emails}@example.com`), ...fields }
  return (await client.post('/v1/users', body)).json
}

export async function newOrder(client: Caller): Promise<Json> {
  const user = await newUser(client)
  return (await client.post('/v1/orders', sampleOf.orders(user.id))).json
}

/** A body that a collection takes, of an item that no other has; what it refers to is made. */
export async function newBody(client: Caller, name: CollectionName): Promise<Json> {
  const user = await newUser(client)
  if (name === 'users') return sampleOf.users(`new.${String(user.id)}@example.com`)
  if (name === 'friends') return sampleOf.friends(user.id, (await newUser(client)).id)
  if (name === 'payments') return sampleOf.payments((await newOrder(client)).id)
  return sampleOf[name](user.id)
}
