import type { ColumnType, Generated } from 'kysely'
import type { Static } from 'typebox'
import type { Friend } from './collections/friends.js'
import type { Order } from './collections/orders.js'
import type { Payment } from './collections/payments.js'
import type { Subscription } from './collections/subscriptions.js'
import type { User } from './collections/users.js'

/** The tables of the database, for Kysely. */
export interface Tables {
  readonly users: Table<Static<typeof User>, 'gender' | 'email_verified'>
  readonly friends: Table<Static<typeof Friend>>
  readonly orders: Table<Omit<Static<typeof Order>, 'items'>> & {
    /** Written as JSON text. */
    readonly items: ColumnType<Static<typeof Order>['items'], string, string>
  }
  readonly subscriptions: Table<Static<typeof Subscription>, 'renews_at'>
  readonly payments: Table<Static<typeof Payment>, 'failure_reason'>
  readonly invoices: { order_id: bigint; content: string; made_at: Generated<string> }
  readonly invoice_requests: { order_id: bigint; requested_at: Generated<string> }
  readonly finished_work: {
    operation_id: string
    outcome: ColumnType<object | null, never, string>
    begun_at: Generated<string>
  }
  readonly retries: {
    item: string
    order_id: bigint
    has_succeeded: Generated<boolean>
    begun_at: Generated<string>
  }
}

/** Columns that the database fills in, and others that have a default. */
type Table<Row, Defaults extends keyof Row = never> = {
  [Name in keyof Row]: Name extends 'id' | 'created_at' | 'updated_at' | Defaults
    ? Generated<Row[Name]>
    : Row[Name]
}
