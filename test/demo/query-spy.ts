import { type KyselyPlugin, PostgresQueryCompiler } from 'kysely'
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
  const spy: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      texts.push(new PostgresQueryCompiler().compileQuery(node, queryId).sql)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    database: database.withPlugin(spy),
    columnsRead: () => texts.splice(0).flatMap(columnsOf),
  }
}

function columnsOf(text: string): string[][] {
  const columns = /^select (.+?) from "\w+"/.exec(text)?.[1]
  return columns === undefined ? [] : [columns.split(', ').map((column) => column.replaceAll('"', ''))]
}
