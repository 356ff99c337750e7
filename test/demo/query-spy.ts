import { type KyselyPlugin, PostgresQueryCompiler } from 'kysely'
import type { Database } from '../../examples/demo-server/database.js'

export interface SpiedDatabase {
  readonly database: Database
  /** The columns that the statements since the last call read, one list for each `select … from` the table, or any. */
  columnsRead(table?: string): string[][]
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
    columnsRead: (table) => texts.splice(0).flatMap((text) => columnsOf(text, table)),
  }
}

function columnsOf(text: string, table: string | undefined): string[][] {
  const [, columns, from] = /^select (.+?) from "(\w+)"/.exec(text) ?? []
  if (columns === undefined || from !== (table ?? from)) return []
  return [columns.split(', ').map((column) => column.replaceAll('"', ''))]
}
