import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  type CachingRouteOptions,
  type OperationResult,
  ProblemError,
  type RouteValidators,
} from 'fastify-conventions'
import { type Owner, ownerOf } from './caller.js'
import { changesOf } from './changes.js'
import { problemOfDelete, problemOfWrite } from './constraint-problems.js'
import { defineCreation, refuseDanglingReferences } from './creation.js'
import type { Database, Row, SqlValue } from './database.js'
import type { Collection } from './declaration.js'
import { refuseForeign, refuseReserved } from './ownership.js'
import { creationCodes, writeCodes } from './problem-codes.js'
import { routeSchemas } from './route-schemas.js'
import { scopeOf } from './scopes.js'
import {
  countAll,
  deleteRow,
  insertRow,
  lockOne,
  selectGivenOut,
  selectOne,
  selectPage,
  selectVersion,
  updateRow,
  type Values,
} from './sql.js'

/** What {@link mountCollection} needs. */
export interface CollectionOptions {
  readonly collection: Collection
  readonly database: Database
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace: number
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
  { collection, database, pace }: CollectionOptions,
): Promise<void> {
  const {
    name,
    singular,
    defaultFields,
    formats = [],
    listCaching = {},
    itemCaching = keptByCaller,
  } = collection
  const path = `/v1/${name}`
  const itemPath = `${path}/:id`
  const schemas = routeSchemas(collection)
  const fields = defaultFields === undefined ? {} : { default: defaultFields }
  const validators = (request: FastifyRequest) =>
    findVersion((request as FastifyRequest<ById>).params.id, ownerOf(request))
  const [reading, writing] = [
    { scopes: [scopeOf(collection, 'read')] },
    { scopes: [scopeOf(collection, 'write')] },
  ]
  // CSV is for lists.
  const ofItems = formats.filter((format) => format !== 'csv')
  const guarded = { bearer: writing, caching: { validators, validatorsOf } }
  const codes = writeCodes(collection)

  app.get<{ Querystring: Values }>(
    path,
    {
      schema: schemas.list,
      config: { bearer: reading, lists: { member: name }, fields, formats, caching: listCaching },
    },
    async function listItems(request, reply) {
      const names = request.fields?.names ?? null
      const owner = ownerOf(request)
      const rows = await database.query(selectPage(collection, owner, request.page, request.query, names))
      if (!request.page.includeTotal) return reply.list(rows)
      const [count] = await database.query(countAll(collection, owner, request.query))
      return reply.list(rows, count?.total as bigint)
    },
  )

  const creation = collection.createsAsync === true ? `${name}.create` : null
  if (creation !== null) defineCreation(app, creation, collection, { database, pace })
  const startsCreation = creation === null ? {} : { operations: { starts: creation } }

  app.post<WithBody>(
    path,
    {
      schema: schemas.create,
      config: {
        ...startsCreation,
        bearer: writing,
        problems: { codes: creation === null ? codes : { ...codes, ...creationCodes } },
        formats: { produces: ofItems, body: ofItems.includes('xml') },
        caching: { validatorsOf },
      },
    },
    async function createItem(request, reply) {
      await refuseCreation(ownerOf(request), request.body)
      if (creation !== null && request.prefer.respondAsync) {
        await refuseDanglingReferences(database, collection, request.body)
        return reply.startOperation(creation, request.body, { answer: createdAnswer })
      }
      return created(reply, await insert(request.body))
    },
  )

  app.get<ById>(
    itemPath,
    {
      schema: schemas.read,
      config: { bearer: reading, fields, formats: ofItems, caching: { ...itemCaching, validators } },
    },
    async function readItem(request) {
      const { id } = request.params
      const names = request.fields?.names ?? null
      const [row] = await database.query(selectOne(collection, id, names, ownerOf(request)))
      return row ?? missing(id)
    },
  )

  app.put<ById & WithBody>(
    itemPath,
    {
      schema: schemas.replace,
      config: { ...guarded, problems: { codes: { ...codes, 'id-not-given-out': 422 } } },
    },
    async function replaceItem(request, reply) {
      const { id } = request.params
      if (request.expectedVersion === null) {
        // Any other precondition is about something that is gone. Users do not choose ids: they would learn which are in use.
        if (request.headers['if-none-match'] !== '*' || ownerOf(request) !== 'all') missing(id)
        const row = await createAt(id, request.body)
        return reply.code(201).header('location', `${path}/${id}`).send(row)
      }
      return update(request)
    },
  )

  await app.register(async function mergePatch(scope) {
    // RFC 7396 §4; in a scope of its own, as no other method takes a patch for a body.
    const parseJson = scope.getDefaultJsonParser('error', 'error')
    scope.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, parseJson)

    scope.patch<ById & WithBody>(
      itemPath,
      { schema: schemas.update, config: { ...guarded, problems: { codes } } },
      async function updateItem(request) {
        return update(request)
      },
    )
  })

  app.delete<ById>(
    itemPath,
    { schema: schemas.delete, config: { ...guarded, problems: { codes: { 'still-referenced': 409 } } } },
    async function deleteItem(request, reply) {
      const { id } = request.params
      const { expectedVersion: expected } = request
      const deletion = deleteRow(collection, id, expected, ownerOf(request))
      const [row] = await database.query(deletion).catch((error: unknown) => {
        throw problemOfDelete(error, collection, id)
      })
      if (row === undefined) notThere(id, expected)
      return reply.code(204).send()
    },
  )

  function created(reply: FastifyReply, row: Row | undefined): FastifyReply {
    return reply
      .code(201)
      .header('location', `${path}/${String(row?.id)}`)
      .send(row)
  }

  // For who is willing to wait, and did not have to wait too long: as if there had been no operation.
  async function createdAnswer(end: OperationResult, reply: FastifyReply): Promise<FastifyReply> {
    if (end.status === 'Failed') {
      const { code, status, title, detail, errors = [] } = end.error
      throw new ProblemError(code, { status, title, detail, errors })
    }
    const id = BigInt(end.resource?.split('/').at(-1) ?? '')
    const [row] = await database.query(selectOne(collection, id, null, 'all'))
    return created(reply, row)
  }

  async function update(request: FastifyRequest<ById & WithBody>): Promise<Row> {
    const { body, expectedVersion: expected } = request
    const { id } = request.params
    const owner = ownerOf(request)
    return database
      .transaction(async (queries) => {
        const [current] = await queries.query(lockOne(collection, id, owner))
        const isExpected = expected === undefined || current?.updated_at === expected
        if (current === undefined || !isExpected) notThere(id, expected)
        const changes = changesOf(collection, body, current)
        refuseReserved(collection, owner, changes, current)
        await refuseForeign(queries, collection, owner, { ...current, ...changes })
        const [row] = await queries.query(updateRow(collection, id, changes))
        return row ?? current
      })
      .catch((error: unknown) => {
        throw problemOfWrite(error, collection, body)
      })
  }

  async function refuseCreation(owner: Owner, body: Values): Promise<void> {
    refuseReserved(collection, owner, body)
    await refuseForeign(database, collection, owner, body).catch((error: unknown) => {
      throw problemOfWrite(error, collection, body)
    })
  }

  async function createAt(id: bigint, body: Values): Promise<Row | undefined> {
    const [answer] = await database.query(selectGivenOut(collection, id))
    if (answer?.given_out !== true) {
      throw new ProblemError('id-not-given-out', {
        status: 422,
        detail: `the id ${id} is one that a later POST will give out`,
        errors: [{ in: 'path', name: 'id', message: 'is yet to be given out' }],
      })
    }
    return insert({ id, ...changesOf(collection, body, { id }) })
  }

  async function findVersion(id: bigint, owner: Owner): Promise<RouteValidators | null> {
    const [row] = await database.query(selectVersion(collection, id, owner))
    return row === undefined ? null : validatorsOf(row)
  }

  async function insert(body: Values): Promise<Row | undefined> {
    const [row] = await database.query(insertRow(collection, body)).catch((error: unknown) => {
      throw problemOfWrite(error, collection, body)
    })
    return row
  }

  // What was there when the precondition was evaluated, and is not now, somebody else has changed.
  function notThere(id: bigint, expected: SqlValue | undefined): never {
    if (expected === undefined || expected === null) missing(id)
    throw new ProblemError('precondition-failed', {
      detail: `the ${singular} ${id} has changed: read it again`,
    })
  }

  function missing(id: bigint): never {
    throw new ProblemError('not-found', { detail: `there is no ${singular} ${id}` })
  }
}

function validatorsOf(row: Row): RouteValidators {
  const version = row.updated_at as string
  return { version, lastModified: new Date(version) }
}

const keptByCaller: CachingRouteOptions = { cacheControl: { private: true, noCache: true } }
