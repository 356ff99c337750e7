import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { ExpressionBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { takeEmptyBodies, takeMergePatches } from '../bodies.js'
import { forbidden, type Owner, ownerOf, requireUser } from '../caller.js'
import { changesOf, writableOf } from '../changes.js'
import { isRefusedBy } from '../constraint-problems.js'
import type { Queries } from '../database.js'
import {
  type ById,
  expectItem,
  type ItemRequest,
  isExpected,
  nextVersion,
  notFound,
  refuseFutureId,
  validatorsOf,
} from '../items.js'
import { columnsOf, given, listColumnsOf, onePage } from '../pages.js'
import {
  closed,
  createdResponse,
  emptyResponse,
  idParams,
  itemOf,
  itemResponse,
  line,
  listResponse,
  noMembers,
  noQuery,
  nullable,
  readOnly,
  readOnlyMembers,
  withDefault,
} from '../schemas.js'
import type { Service } from '../service.js'
import type { Tables } from '../tables.js'
import { takeTime } from '../work.js'

const fields = {
  name: line(200, 'Full name'),
  age: Type.Integer({ minimum: 0, maximum: 150, description: 'Age in years' }),
  gender: nullable(line(50, 'Gender, in the words of the person')),
  email: Type.String({
    format: 'email',
    maxLength: 254,
    description: 'E-mail address; no two users share one, whatever its case',
  }),
}
const emailVerified = Type.Boolean({ description: 'Has the user proven to own the address?' })
const ofService = { ...readOnlyMembers('user'), email_verified: readOnly(emailVerified) }

/** One of the people who use the service. */
export const User = itemOf('user', 'The people who use the service', {
  ...fields,
  email_verified: emailVerified,
})
const NewUser = Type.Object({ ...fields, gender: withDefault(fields.gender, null) }, closed)
const WholeUser = Type.Object({ ...NewUser.properties, ...ofService }, closed)
const UserPatch = Type.Object({ ...Type.Partial(Type.Object(fields)).properties, ...ofService }, closed)
const Filters = Type.Partial(Type.Object({ email: fields.email, email_verified: emailVerified }), closed)

// Only who asks for an address gets it.
const defaultFields = ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at']

const ofItem = { tags: ['users'], params: idParams, querystring: noQuery }

/** Mounts `/v1/users`, and what is done to a user: follow, verify their address. */
export const users: FastifyPluginAsyncTypebox<Service> = async function mountUsers(app, { db, pace }) {
  const reading = { scopes: ['users:read'] }
  const codes = { 'already-exists': 409 }
  const writing = {
    bearer: { scopes: ['users:write'] },
    problems: { codes },
    caching: { validators: findVersion, validatorsOf },
  }

  app.get(
    '/v1/users',
    {
      schema: {
        operationId: 'listUsers',
        summary: 'List users',
        tags: ['users'],
        querystring: Filters,
        response: { 200: listResponse('users', User) },
      },
      config: {
        bearer: reading,
        lists: { member: 'users' },
        fields: { default: defaultFields },
        formats: ['xml', 'csv'],
        caching: {},
      },
    },
    async function listUsers(request, reply) {
      const { email, ...others } = given(request.query, ['email', 'email_verified'])
      let found = db
        .selectFrom('users')
        .where(visibleTo(ownerOf(request)))
        .where(({ and }) => and(others))
      if (email !== undefined)
        found = found.where(({ eb, fn, val }) => eb(fn('lower', ['email']), '=', fn('lower', [val(email)])))
      const rows = await onePage(found.select(listColumnsOf(User, request)), request.page).execute()
      if (!request.page.includeTotal) return reply.list(rows)
      const { total } = await found
        .select(({ fn }) => fn.countAll<bigint>().as('total'))
        .executeTakeFirstOrThrow()
      return reply.list(rows, total)
    },
  )

  app.post(
    '/v1/users',
    {
      schema: {
        operationId: 'createUser',
        summary: 'Create user',
        tags: ['users'],
        querystring: noQuery,
        body: NewUser,
        response: { 201: createdResponse(User, 'The new user') },
      },
      config: { ...writing, caching: { validatorsOf }, formats: { produces: ['xml'], body: true } },
    },
    async function createUser(request, reply) {
      refuseToMakeUsers(ownerOf(request))
      const user = await db.insertInto('users').values(request.body).returningAll().executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/users/${user.id}`).send(user)
    },
  )

  app.get(
    '/v1/users/:id',
    {
      schema: {
        operationId: 'readUser',
        summary: 'Read user',
        ...ofItem,
        response: { 200: itemResponse(User, 'The user') },
      },
      config: {
        bearer: reading,
        fields: { default: defaultFields },
        formats: ['xml'],
        caching: { cacheControl: { private: true, noCache: true }, validators: findVersion },
      },
    },
    async function readUser(request) {
      const missing = () => notFound('user', request.params.id)
      return visible(db, request).select(columnsOf(User, request)).executeTakeFirstOrThrow(missing)
    },
  )

  app.put(
    '/v1/users/:id',
    {
      schema: {
        operationId: 'replaceUser',
        summary: 'Replace user',
        ...ofItem,
        body: WholeUser,
        response: {
          200: itemResponse(User, 'The user as it is now'),
          201: createdResponse(User, 'The new user, made with If-None-Match: *'),
        },
      },
      config: { ...writing, problems: { codes: { ...codes, 'id-not-given-out': 422 } } },
    },
    async function replaceUser(request, reply) {
      if (request.expectedVersion !== null) return update(request)
      // Any other precondition is about an item that is gone. Users do not choose ids: they would learn which are in use.
      const { id } = request.params
      if (request.headers['if-none-match'] !== '*' || ownerOf(request) !== 'all') throw notFound('user', id)
      await refuseFutureId(db, 'users', id)
      const values = { id, ...writableOf(request.body, { id }, NewUser) }
      const user = await db.insertInto('users').values(values).returningAll().executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/users/${id}`).send(user)
    },
  )

  await app.register(async function mountPatch(scope: typeof app) {
    takeMergePatches(scope)
    scope.patch(
      '/v1/users/:id',
      {
        schema: {
          operationId: 'updateUser',
          summary: 'Update user',
          ...ofItem,
          consumes: ['application/merge-patch+json', 'application/json'],
          body: UserPatch,
          response: { 200: itemResponse(User, 'The user as it is now') },
        },
        config: writing,
      },
      async function updateUser(request) {
        return update(request)
      },
    )
  })

  app.delete(
    '/v1/users/:id',
    {
      schema: {
        operationId: 'deleteUser',
        summary: 'Delete user',
        ...ofItem,
        response: { 204: emptyResponse('The user is gone') },
      },
      config: { ...writing, problems: { codes: { 'still-referenced': 409 } } },
    },
    async function deleteUser(request, reply) {
      const deleted = await db
        .deleteFrom('users')
        .where('id', '=', request.params.id)
        .where(visibleTo(ownerOf(request)))
        .where(isExpected(request))
        .returning('updated_at')
        .executeTakeFirst()
      expectItem('user', request, deleted)
      return reply.code(204).send()
    },
  )

  /** Writes the members of a body whose values are new; without one, the user stays as it is. */
  async function update(request: ItemRequest<Static<typeof UserPatch>>) {
    const { id } = request.params
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const user = expectItem('user', request, found)
      const changes = changesOf(writableOf(request.body, user, NewUser), user)
      if (Object.keys(changes).length === 0) return user
      return trx
        .updateTable('users')
        .set({
          ...changes,
          ...(changes.email === undefined ? {} : { email_verified: false }),
          updated_at: nextVersion,
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: FastifyRequest<ById>) {
    const user = await visible(db, request).select('updated_at').executeTakeFirst()
    return user === undefined ? null : validatorsOf(user)
  }

  app.operations.define<{ readonly id: string }>('users.verify-email', { retryAfter: 1 }, async (context) => {
    await takeTime(context, 1_000, pace)
    const id = BigInt(context.input.id)
    const { numUpdatedRows } = await db
      .updateTable('users')
      .set({ email_verified: true, updated_at: nextVersion })
      .where('id', '=', id)
      .where('email_verified', '=', false)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) return
    const user = await db.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst()
    if (user === undefined) throw notFound('user', id)
  })

  await app.register(async function mountActions(scope: typeof app) {
    takeEmptyBodies(scope)

    scope.post(
      '/v1/users/:id/verify_email',
      {
        schema: {
          operationId: 'verifyEmail',
          summary: 'Verify the email address of a user',
          ...ofItem,
          body: noMembers,
        },
        config: {
          bearer: { scopes: ['users:write'] },
          operations: { starts: 'users.verify-email' },
          pathGuard: { except: ['underscore'], reason: 'clients know it by this name' },
        },
      },
      async function verifyEmail(request, reply) {
        const { id } = request.params
        const missing = () => notFound('user', id)
        await visible(db, request).select('id').executeTakeFirstOrThrow(missing)
        return reply.startOperation('users.verify-email', { id: String(id) })
      },
    )

    const follow = {
      schema: {
        operationId: 'followUser',
        summary: 'Follow user',
        ...ofItem,
        body: noMembers,
        response: { 204: emptyResponse('The caller follows the user') },
      },
      config: {
        bearer: { scopes: ['friends:write'] },
        problems: { codes: { 'reference-not-found': 422, 'friend-of-self': 422, 'already-exists': 409 } },
      },
    }
    scope.post('/v1/users/:id/follow', follow, async function followUser(request, reply) {
      await addFriend(requireUser(request), request.params.id)
      return reply.code(204).send()
    })
    scope.post(
      '/v1/user/:id/follow',
      {
        schema: { ...follow.schema, operationId: 'followUserBySingular' },
        config: {
          ...follow.config,
          pathGuard: { except: ['plural'], reason: 'older clients ask for it under the singular' },
          selfAlias: true,
        },
      },
      async function followUserBySingular(request, reply) {
        await addFriend(requireUser(request), request.params.id)
        return reply.code(204).send()
      },
    )
  })

  /** Who follows already goes on to do so. */
  async function addFriend(user_id: bigint, friend_user_id: bigint): Promise<void> {
    await db
      .insertInto('friends')
      .values({ user_id, friend_user_id })
      .onConflict((conflict) => conflict.columns(['user_id', 'friend_user_id']).doNothing())
      .execute()
      .catch((error: unknown) => {
        throw isRefusedBy('friends_friend_user_id_fkey', error) ? notFound('user', friend_user_id) : error
      })
  }
}

/** Returns the query of the item that a request names, if the caller sees it. */
function visible(queries: Queries, request: ItemRequest) {
  const { id } = request.params
  return queries
    .selectFrom('users')
    .where('id', '=', id)
    .where(visibleTo(ownerOf(request)))
}

/** Users see themselves, and admins see all. */
function visibleTo(owner: Owner) {
  return ({ eb, lit }: ExpressionBuilder<Tables, 'users'>) =>
    owner === 'all' ? lit(true) : eb('id', '=', owner)
}

function refuseToMakeUsers(owner: Owner): void {
  if (owner !== 'all') throw forbidden('id: only an admin writes a user of another user')
}
