import { Friend, friends } from './friends.js'
import { Order, orders } from './orders.js'
import { Payment, payments } from './payments.js'
import { Subscription, subscriptions } from './subscriptions.js'
import { User, users } from './users.js'

export const items = {
  users: User,
  friends: Friend,
  orders: Order,
  subscriptions: Subscription,
  payments: Payment,
} as const

export const collections = [users, friends, orders, subscriptions, payments] as const
