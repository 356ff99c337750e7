import { isObject } from '../options.js'
import { scheduleTimeout } from '../time/schedule.js'

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

const mostAttempts = 10

/** Errors after which nothing has changed, and PostgreSQL asks for the same again: a serialization failure, a deadlock. */
const retryable: ReadonlySet<unknown> = new Set(['40001', '40P01'])

/** Runs a statement, and runs it again if PostgreSQL has rolled it back in favour of another one. */
export async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempts === mostAttempts || !isObject(error) || !retryable.has(error.code)) throw error
    }
  }
}

/** Listens to a channel on a connection of the pool that does nothing else. */
export async function listenTo(
  pool: PostgresPool,
  channel: string,
  hear: (payload: string) => void,
): Promise<() => void> {
  let isOver = false
  let letGo = () => {}

  const listen = async (): Promise<void> => {
    const connection = await pool.connect()
    let [isHeld, isListening] = [true, false]
    const end = () => {
      if (isHeld) connection.release(true)
      isHeld = false
      isListening = false
    }
    const lost = () => {
      const isToRetry = isListening && !isOver
      end()
      if (isToRetry) retry(0)
    }
    // A pool does not handle errors of a connection that is checked out; without a listener they end the process.
    connection.on('error', lost)
    connection.on('end', lost)
    connection.on('notification', ({ payload }) => {
      if (isHeld && payload !== undefined) hear(payload)
    })
    letGo = end
    try {
      await connection.query(`LISTEN ${channel}`)
      isListening = true
    } finally {
      if (!isListening || isOver) end()
    }
  }

  const retry = (failures: number) => {
    const delay = Math.min(firstDelay * 2 ** failures, longestDelay)
    letGo = scheduleTimeout(() => {
      listen().catch(() => {
        if (!isOver) retry(failures + 1)
      })
    }, delay)
  }

  await listen()
  return () => {
    isOver = true
    letGo()
  }
}

/** Milliseconds. */
const [firstDelay, longestDelay] = [100, 5_000]
