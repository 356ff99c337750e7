import type { PGlite } from '@electric-sql/pglite'
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'

/** Returns the pool of the one connection that PGlite has: a caller waits until the one before has released it. */
export function pglitePool(pglite: PGlite): PostgresPool {
  let released = Promise.resolve()
  async function query(text: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<unknown>> {
    // PGlite accepts text for each type.
    const parameters = values.map((value) => (value === null ? null : String(value)))
    const { rows, affectedRows = 0 } = await pglite.query(text, parameters)
    const command = text.split(' ', 1)[0]?.toUpperCase() as PostgresQueryResult<unknown>['command']
    return { command, rowCount: affectedRows, rows }
  }
  return {
    async connect() {
      const before = released
      let release = () => {}
      released = new Promise((resolve) => {
        release = resolve
      })
      await before
      return { query, release } as PostgresPoolClient
    },
    end: () => pglite.close(),
  }
}
