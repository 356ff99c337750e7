import type { FastifyInstance } from 'fastify'
import { problemOfWrite } from './constraint-problems.js'
import { ConstraintViolation, type Database } from './database.js'
import type { Collection } from './declaration.js'
import { insertRow, type Values } from './sql.js'
import { once, takeTime } from './work.js'

/** Defines the operation that creates an item of a collection, from the body of the request. */
export function defineCreation(
  app: FastifyInstance,
  name: string,
  collection: Collection,
  { database, pace }: { readonly database: Database; readonly pace: number },
): void {
  app.operations.define<Values>(name, { cancellable: true, retryAfter: 1 }, async (context) => {
    await takeTime(context, 1_000, pace)
    try {
      return await once(database, context, async (queries) => {
        const [row] = await queries.query(insertRow(collection, context.input))
        return { resource: `/v1/${collection.name}/${String(row?.id)}` }
      })
    } catch (error) {
      throw problemOfWrite(error, collection, context.input)
    }
  })
}

/**
 * Refuses a body that refers to what is not there before anything is started: it is the database that knows.
 *
 * @throws ProblemError `reference-not-found`, as a create would be answered
 */
export async function refuseDanglingReferences(
  database: Database,
  collection: Collection,
  body: Values,
): Promise<void> {
  const { name, fields } = collection
  for (const [field, { references }] of Object.entries(fields)) {
    const id = body[field]
    if (references === undefined || typeof id !== 'bigint') continue
    const [row] = await database.query({ text: `select id from ${references} where id = $1`, values: [id] })
    if (row !== undefined) continue
    const breach = new ConstraintViolation('reference', `${name}_${field}_fkey`, name, undefined)
    throw problemOfWrite(breach, collection, body)
  }
}
