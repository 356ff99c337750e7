import {
  type ColumnType,
  CompiledQuery,
  type Generated,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type Transaction,
} from 'kysely'
import type { Static } from 'typebox'
import type { Friend } from './collections/friends.js'
import type { Order } from './collections/orders.js'
import type { Payment } from './collections/payments.js'
import type { Subscription } from './collections/subscriptions.js'
import type { User } from './collections/users.js'
import { problemOfConstraint } from './constraint-problems.js'

export interface Tables {
  readonly users: Table<Static<typeof User>, 'gender' | 'email_verified'>
  readonly friends: Table<Static<typeof Friend>>
  readonly orders: Table<Omit<Static<typeof Order>, 'items'>> & {
    readonly items: ColumnType<Static<typeof Order>['items'], string, string>
  }
  readonly subscriptions: Table<Static<typeof Subscription>, 'renews_at'>
  readonly payments: Table<Static<typeof Payment>, 'failure_reason'>
  readonly invoices: { order_id: bigint; content: string; made_at: Generated<string> }
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

export type Database = Kysely<Tables>

/** A transaction, or the database itself where a statement needs none. */
export type Queries = Database | Transaction<Tables>

export interface Service {
  readonly db: Database
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace: number
}

/** Returns the database of a pool. A write that a constraint refuses rejects with the problem that the client gets. */
export function databaseOf(pool: PostgresPool): Database {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: { connect: async () => withProblems(await pool.connect()), end: () => pool.end() },
    }),
  })
}

/** Returns what runs the statements of a store of the conventions: in a transaction, they are part of it. */
export function connectionOf(queries: Queries) {
  return {
    query: (text: string, values: readonly unknown[] = []) =>
      queries.executeQuery(CompiledQuery.raw(text, [...values])),
  }
}

function withProblems(client: PostgresPoolClient): PostgresPoolClient {
  return {
    query: (text: string, values: readonly unknown[]) =>
      client.query(text, values).catch((error: unknown) => {
        throw problemOfConstraint(error) ?? error
      }),
    release: () => client.release(),
  } as PostgresPoolClient
}

/** What the text that PostgreSQL sends for a type becomes, by the type's object id; both kinds of database read it. */
export const columnParsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  20: BigInt,
  23: Number,
  1184: toRfc3339,
  3802: JSON.parse,
}

/** `2025-01-31 09:30:00.5+00` as `2025-01-31T09:30:00.500Z`. The session's time zone is UTC. */
function toRfc3339(text: string): string {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/.exec(text)
  if (match === null) throw new Error(`expected a timestamp of milliseconds in UTC, received ${text}`)
  const [, date, time, fraction = ''] = match
  return `${date}T${time}.${fraction.padEnd(3, '0')}Z`
}
