import type { Collection } from '../declaration.js'
import { line, nullable, oneOf, reference, timestamp } from '../field-types.js'

/** What users pay for again and again. */
export const subscriptions: Collection = {
  name: 'subscriptions',
  singular: 'subscription',
  description: 'What users pay for again and again',
  fields: {
    user_id: { schema: reference('The user who subscribed'), required: true, references: 'users' },
    plan: { schema: line(100, 'Name of the plan'), required: true },
    status: {
      schema: oneOf(['active', 'suspended', 'cancelled'], 'Does the subscription run?'),
      default: 'active',
      reserved: true,
    },
    renews_at: { schema: nullable(timestamp('When the next period begins, if one does')), default: null },
  },
  owner: { field: 'user_id' },
  finalStatuses: ['cancelled'],
  filters: ['user_id', 'status', 'plan'],
}
