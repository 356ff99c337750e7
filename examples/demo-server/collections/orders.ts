import type { Collection } from '../declaration.js'
import { currency, minorUnits, oneOf, reference } from '../field-types.js'

/** What users bought. */
export const orders: Collection = {
  name: 'orders',
  singular: 'order',
  description: 'What users bought',
  fields: {
    user_id: { schema: reference('The user who ordered'), required: true, references: 'users' },
    status: {
      schema: oneOf(['pending', 'paid', 'fulfilled', 'failed', 'cancelled'], 'How far the order has come'),
      default: 'pending',
      reserved: true,
    },
    total_amount: { schema: minorUnits('What the order costs, in minor units'), required: true },
    currency: { schema: currency, required: true },
    items: {
      schema: {
        type: 'array',
        minItems: 1,
        maxItems: 100,
        description: 'What was ordered',
        items: {
          type: 'object',
          required: ['sku', 'quantity', 'unit_amount'],
          additionalProperties: false,
          properties: {
            sku: {
              type: 'string',
              pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
              description: 'Article number',
            },
            quantity: { type: 'integer', minimum: 1, maximum: 1_000_000, description: 'How many' },
            unit_amount: minorUnits('What one costs, in minor units'),
          },
        },
      },
      required: true,
    },
  },
  owner: { field: 'user_id' },
  finalStatuses: ['fulfilled'],
  formats: ['xml', 'csv'],
  filters: ['user_id', 'status', 'currency'],
  createsAsync: true,
}
