import type { Collection } from '../declaration.js'
import { currency, line, minorUnits, nullable, oneOf, reference } from '../field-types.js'
import { orders } from './orders.js'

/** Attempts to pay for orders. */
export const payments: Collection = {
  name: 'payments',
  singular: 'payment',
  description: 'Attempts to pay for orders',
  fields: {
    order_id: { schema: reference('The order that is paid for'), required: true, references: 'orders' },
    amount: { schema: minorUnits('What is paid, in minor units'), required: true },
    currency: { schema: currency, required: true },
    status: {
      schema: oneOf(['pending', 'succeeded', 'failed', 'cancelled'], 'How the payment went'),
      default: 'pending',
      reserved: true,
    },
    failure_reason: {
      schema: nullable(line(100, 'Why it failed, such as timeout or insufficient_funds')),
      default: null,
      reserved: true,
    },
  },
  owner: { field: 'order_id', of: orders },
  filters: ['order_id', 'status'],
  listCaching: { confidential: true },
  itemCaching: { confidential: true },
}
