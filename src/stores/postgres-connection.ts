/** What comes of a statement. */
export interface PostgresResult {
  readonly rows: readonly unknown[]
  /** Rows that it found, put, changed or took away. */
  readonly rowCount: number | null
}

/** What another connection sent to those who listen. */
export interface PostgresNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** One connection of a pool, taken out of it. */
export interface PostgresConnection {
  query(text: string): Promise<unknown>
  on(event: 'notification', listener: (notification: PostgresNotification) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  /** Gives it back to the pool, or ends it. */
  release(isToEnd: boolean): void
}

/** A pool of connections to PostgreSQL; that of [pg](https://github.com/brianc/node-postgres) is one. */
export interface PostgresPool {
  readonly options?: { readonly max?: number }
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  connect(): Promise<PostgresConnection>
}
