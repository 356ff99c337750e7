import type { Collection } from '../declaration.js'
import { line, nullable } from '../field-types.js'

/** The people who use the service. */
export const users: Collection = {
  name: 'users',
  singular: 'user',
  description: 'The people who use the service',
  fields: {
    name: { schema: line(200, 'Full name'), required: true },
    age: {
      schema: { type: 'integer', minimum: 0, maximum: 150, description: 'Age in years' },
      required: true,
    },
    gender: { schema: nullable(line(50, 'Gender, in the words of the person')), default: null },
    email: {
      schema: {
        type: 'string',
        format: 'email',
        maxLength: 254,
        description: 'E-mail address; no two users share one, whatever its case',
      },
      required: true,
    },
    email_verified: {
      schema: { type: 'boolean', description: 'Has the user proven to own the address?' },
      readOnly: true,
      default: false,
      resetBy: 'email',
    },
  },
  owner: { field: 'id' },
  unique: [{ fields: ['email'], ignoreCase: true }],
  formats: ['xml', 'csv'],
  filters: ['email', 'email_verified'],
  // An address is answered to those who ask for it.
  defaultFields: ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at'],
  hasCallers: true,
}
