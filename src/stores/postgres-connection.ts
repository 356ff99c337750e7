/** The result of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[]
  /** Number of rows that it returned, inserted, updated or deleted. */
  readonly rowCount: number | null
}

/** A notification of another connection. */
export interface PostgresNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** A connection that is checked out of a pool. */
export interface PostgresConnection {
  query(text: string): Promise<unknown>
  on(event: 'notification', listener: (notification: PostgresNotification) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  /** Returns it to the pool, or ends it. */
  release(isToEnd: boolean): void
}

/** What runs a statement: a pool, or a connection of the app with a transaction. */
export interface PostgresQuery {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
}

/** A pool of connections to PostgreSQL; that of [pg](https://github.com/brianc/node-postgres) is one. */
export interface PostgresPool extends PostgresQuery {
  readonly options?: { readonly max?: number }
  connect(): Promise<PostgresConnection>
}
