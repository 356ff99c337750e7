import { Friend, friends } from './friends.js'
import { Order, orders } from './orders.js'
import { Payment, payments } from './payments.js'
import { Subscription, subscriptions } from './subscriptions.js'
import { User, users } from './users.js'

/** The schema of an item of each collection, by the name of the collection. */
export const items = {
  users: User,
  friends: Friend,
  orders: Order,
  subscriptions: Subscription,
  payments: Payment,
} as const

/** The plugins that mount the routes of the collections. */
export const collections = [users, friends, orders, subscriptions, payments] as const
