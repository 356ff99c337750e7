import type { Collection } from '../declaration.js'
import { friends } from './friends.js'
import { orders } from './orders.js'
import { payments } from './payments.js'
import { subscriptions } from './subscriptions.js'
import { users } from './users.js'

/** All collections; what others reference comes first. */
export const collections: readonly Collection[] = [users, friends, orders, subscriptions, payments]
