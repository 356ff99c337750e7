import type { Static } from 'typebox'
import type { Friend } from './collections/friends.js'
import type { Order } from './collections/orders.js'
import type { Payment } from './collections/payments.js'
import type { Subscription } from './collections/subscriptions.js'
import type { User } from './collections/users.js'
import { firstId } from './migrations.js'

/** Enough to page through and small enough to read; some users, from the middle of the list, are created at one time. */
export const defaultSeedSize = { users: 40, usersSharingTime: 5, orders: 60, subscriptions: 25 }

export type SeedSize = Readonly<typeof defaultSeedSize>

// Women and men take turns.
const firstNames =
  'Ada Alan Barbara Claude Frances Donald Grace Edsger Hedy John Katherine Ken Margaret Niklaus Radia Tim'.split(
    ' ',
  )
const lastNames =
  'Allen Backus Berners Dijkstra Hamilton Hopper Johnson Knuth Lamarr Liskov Lovelace Perlman Shannon Turing Wirth'.split(
    ' ',
  )
const genders = ['female', 'male']
const articles = [
  { sku: 'tea-earl-grey', unit_amount: 450 },
  { sku: 'mug-blue', unit_amount: 1290 },
  { sku: 'kettle-1l', unit_amount: 3999 },
  { sku: 'filter-100', unit_amount: 299 },
]
const currencies = ['EUR', 'USD', 'GBP']
const plans = ['basic', 'plus', 'family']
const subscriptionStatuses = ['active', 'active', 'suspended', 'active', 'cancelled'] as const

/** What becomes of every eighth order, and how its payment went, if there was one. */
const fates = [
  { order: 'paid', payment: 'succeeded' },
  { order: 'fulfilled', payment: 'succeeded' },
  { order: 'pending', payment: 'pending' },
  { order: 'failed', payment: 'failed', reason: 'timeout' },
  { order: 'fulfilled', payment: 'succeeded' },
  { order: 'failed', payment: 'failed', reason: 'insufficient_funds' },
  { order: 'cancelled', payment: 'cancelled' },
  { order: 'pending' },
] as const

const hour = 3_600_000
const day = 24 * hour
const start = Date.parse('2025-01-01T08:00:00.000Z')

export function seedRows(size: SeedSize) {
  const orders = times(size.orders, (index) => order(index, size.users))
  return {
    users: times(size.users, (index) => user(index, size)),
    friends: friends(size.users),
    orders,
    subscriptions: times(size.subscriptions, (index) => subscription(index, size.users)),
    payments: payments(orders),
  }
}

function user(index: number, { users, usersSharingTime }: SeedSize): Static<typeof User> {
  const name = `${pick(firstNames, index)} ${pick(lastNames, Math.floor(index / firstNames.length) + index)}`
  const middle = Math.floor((users - usersSharingTime) / 2)
  const isShared = index >= middle && index < middle + usersSharingTime
  return {
    id: idOf(index),
    name,
    age: 18 + ((index * 7) % 60),
    gender: index % 7 === 5 ? null : pick(genders, index),
    email: `${name.toLowerCase().replace(' ', '.')}.${index + 1}@example.com`,
    email_verified: index % 3 !== 2,
    ...createdAt(start + (isShared ? middle : index) * hour),
  }
}

function friends(users: number): Static<typeof Friend>[] {
  const pairs = times(users, (index) => ({ from: index, to: (index * 7 + 3) % users }))
  return pairs
    .filter(({ from, to }) => from !== to)
    .map(({ from, to }, index) => ({
      id: idOf(index),
      user_id: idOf(from),
      friend_user_id: idOf(to),
      ...createdAt(start + 10 * day + Math.floor(index / 2) * hour),
    }))
}

function order(index: number, users: number): Static<typeof Order> {
  const items = times((index % 3) + 1, (position) => ({
    sku: pick(articles, index + position).sku,
    quantity: ((index + position) % 4) + 1,
    unit_amount: pick(articles, index + position).unit_amount,
  }))
  return {
    id: idOf(index),
    user_id: idOf((index * 3) % users),
    status: pick(fates, index).order,
    total_amount: items.reduce((sum, { quantity, unit_amount }) => sum + quantity * unit_amount, 0),
    currency: pick(currencies, index),
    items,
    ...createdAt(start + 20 * day + Math.floor(index / 3) * hour),
  }
}

function payments(orders: readonly Static<typeof Order>[]): Static<typeof Payment>[] {
  const paid = orders.flatMap((order, index) => {
    const fate = pick(fates, index)
    return 'payment' in fate ? [{ order, index, fate }] : []
  })
  return paid.map(({ order, index, fate }, position) => ({
    id: idOf(position),
    order_id: order.id,
    amount: order.total_amount,
    currency: order.currency,
    status: fate.payment,
    failure_reason: 'reason' in fate ? fate.reason : null,
    ...createdAt(start + 21 * day + index * hour),
  }))
}

function subscription(index: number, users: number): Static<typeof Subscription> {
  const status = pick(subscriptionStatuses, index)
  const begun = start + 5 * day + index * hour
  return {
    id: idOf(index),
    user_id: idOf((index * 5) % users),
    plan: pick(plans, index),
    status,
    renews_at: status === 'cancelled' ? null : new Date(begun + 365 * day).toISOString(),
    ...createdAt(begun),
  }
}

function idOf(index: number): bigint {
  return firstId + BigInt(index)
}

function createdAt(time: number): { created_at: string; updated_at: string } {
  const text = new Date(time).toISOString()
  return { created_at: text, updated_at: text }
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

function pick<T>(choices: readonly T[], index: number): T {
  return choices[index % choices.length] as T
}
