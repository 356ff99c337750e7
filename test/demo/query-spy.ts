import type { Database } from '../../examples/demo-server/database.js'

/** A database that tells what it was asked. */
export interface SpiedDatabase {
  readonly database: Database
  /** The columns that the statements since the last call read, one list for each `select … from` a collection. */
  columnsRead(): string[][]
}

/** The same database, with a look at its statements. */
export function spyOn(database: Database): SpiedDatabase {
  const texts: string[] = []
  return {
    database: {
      ...database,
      query(statement) {
        texts.push(statement.text)
        return database.query(statement)
      },
    },
    columnsRead: () => texts.splice(0).flatMap(columnsOf),
  }
}

function columnsOf(text: string): string[][] {
  const columns = /^select (.+?) from \w+/.exec(text)?.[1]
  return columns === undefined ? [] : [columns.split(', ')]
}
