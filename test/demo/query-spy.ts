import { type KyselyPlugin, PostgresQueryCompiler } from 'kysely'
import type { Database } from '../../examples/demo-server/database.js'

/** The same database, with a look at its statements. */
export function spyOn(database: Database) {
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
    /** The columns that the statements since the last call read, one list for each `select … from` the table, or any. */
    columnsRead: (table?: string) => texts.splice(0).flatMap((text) => columnsOf(text, table)),
  }
}

function columnsOf(text: string, table: string | undefined): string[][] {
  const [, columns, from] = /^select (.+?) from "(\w+)"/.exec(text) ?? []
  if (columns === undefined || from !== (table ?? from)) return []
  return [columns.split(', ').map((column) => column.replaceAll('"', ''))]
}
