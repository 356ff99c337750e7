import type { FastifyInstance } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { problemOfDelete, problemOfWrite } from './constraint-problems.js'
import type { Database, Row, Statement } from './database.js'
import type { Collection } from './declaration.js'
import { routeSchemas } from './route-schemas.js'
import { countAll, deleteRow, insertRow, selectOne, selectPage, updateRow, type Values } from './sql.js'

/** What {@link mountCollection} needs. */
export interface CollectionOptions {
  readonly collection: Collection
  readonly database: Database
}

interface ById {
  Params: { id: bigint }
}

interface WithBody {
  Body: Values
}

/** Mounts the six routes of a collection, as its declaration says. */
export async function mountCollection(
  app: FastifyInstance,
  { collection, database }: CollectionOptions,
): Promise<void> {
  const { name, singular, defaultFields } = collection
  const path = `/v1/${name}`
  const itemPath = `${path}/:id`
  const schemas = routeSchemas(collection)
  const fields = defaultFields === undefined ? {} : { default: defaultFields }

  app.get<{ Querystring: Values }>(
    path,
    { schema: schemas.list, config: { lists: { member: name }, fields } },
    async function listItems(request, reply) {
      const names = request.fields?.names ?? null
      const rows = await database.query(selectPage(collection, request.page, request.query, names))
      if (!request.page.includeTotal) return reply.list(rows)
      const [count] = await database.query(countAll(collection, request.query))
      return reply.list(rows, count?.total as bigint)
    },
  )

  app.post<WithBody>(path, { schema: schemas.create }, async function createItem(request, reply) {
    const row = await write(insertRow(collection, request.body), request.body)
    return reply
      .code(201)
      .header('location', `${path}/${String(row?.id)}`)
      .send(row)
  })

  app.get<ById>(itemPath, { schema: schemas.read, config: { fields } }, async function readItem(request) {
    const { id } = request.params
    const [row] = await database.query(selectOne(collection, id, request.fields?.names ?? null))
    return row ?? missing(id)
  })

  app.put<ById & WithBody>(itemPath, { schema: schemas.replace }, async function replaceItem(request) {
    const { id } = request.params
    return (await write(updateRow(collection, id, request.body), request.body)) ?? missing(id)
  })

  await app.register(async function mergePatch(scope) {
    // RFC 7396 §4; in a scope of its own, as no other method takes a patch for a body.
    const parseJson = scope.getDefaultJsonParser('error', 'error')
    scope.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parseJson)

    scope.patch<ById & WithBody>(itemPath, { schema: schemas.update }, async function updateItem(request) {
      const { id } = request.params
      return (await write(updateRow(collection, id, request.body), request.body)) ?? missing(id)
    })
  })

  app.delete<ById>(itemPath, { schema: schemas.delete }, async function deleteItem(request, reply) {
    const { id } = request.params
    const [row] = await database.query(deleteRow(collection, id)).catch((error: unknown) => {
      throw problemOfDelete(error, collection, id)
    })
    if (row === undefined) missing(id)
    return reply.code(204).send()
  })

  async function write(statement: Statement, body: Values): Promise<Row | undefined> {
    try {
      return (await database.query(statement))[0]
    } catch (error) {
      throw problemOfWrite(error, collection, body)
    }
  }

  function missing(id: bigint): never {
    throw new ProblemError('not-found', { detail: `there is no ${singular} ${id}` })
  }
}
