import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { forbidden, ownerOf, requireUser } from '../caller.js'
import { isRefusedBy } from '../constraint-problems.js'
import type { Queries, Service } from '../database.js'
import {
  changesOf,
  columnsOf,
  expectItem,
  expectNewId,
  given,
  type ItemRequest,
  isExpected,
  isVisible,
  nextVersion,
  notFound,
  type RequestById,
  readPage,
  validatorsOf,
  writableOf,
} from '../items.js'
import { routesOf } from '../routes.js'
import {
  closed,
  itemOf,
  line,
  noContent,
  noMembers,
  nullable,
  readOnly,
  readOnlyMembers,
  withDefault,
} from '../schemas.js'
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
const email_verified = Type.Boolean({ description: 'Has the user proven to own the address?' })
const ofService = { ...readOnlyMembers, email_verified: readOnly(email_verified) }

/** One of the people who use the service. */
export const User = itemOf('user', 'The people who use the service', { ...fields, email_verified })
const NewUser = Type.Object({ ...fields, gender: withDefault(fields.gender, null) }, closed)
const WholeUser = Type.Object({ ...NewUser.properties, ...ofService }, closed)
const UserPatch = Type.Partial(Type.Object({ ...fields, ...ofService }), closed)
const Filters = Type.Partial(Type.Pick(User, ['email', 'email_verified']), closed)

// Only who asks for an address gets it.
const defaultFields = ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at']

/** Mounts `/v1/users`, and what is done to a user: follow, verify their address. */
export const users: FastifyPluginAsyncTypebox<Service> = async function mountUsers(app, { db, pace }) {
  const routes = routesOf({
    item: User,
    filters: Filters,
    bodies: { made: NewUser, whole: WholeUser, changed: UserPatch },
    visibility: 'Users see themselves alone, and admins all.',
    codes: { 'already-exists': 409 },
    findVersion,
    fields: { default: defaultFields },
  })

  app.get('/v1/users', routes.list, async function listUsers(request, reply) {
    const { email, ...others } = given(request.query, Filters)
    let found = db
      .selectFrom('users')
      .where(isVisible(request, 'id'))
      .where(({ and }) => and(others))
    if (email !== undefined)
      found = found.where(({ eb, fn, val }) => eb(fn('lower', ['email']), '=', fn('lower', [val(email)])))
    const { rows, total } = await readPage(found, User, request)
    return reply.list(rows, total)
  })

  app.post(
    '/v1/users',
    {
      schema: { ...routes.create.schema, description: 'Creates a user. Only an admin may.' },
      config: { ...routes.create.config, formats: ['xml'] },
    },
    async function createUser(request, reply) {
      if (ownerOf(request) !== 'all') throw forbidden('id: only an admin writes a user of another user')
      const user = await db.insertInto('users').values(request.body).returningAll().executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/users/${user.id}`).send(user)
    },
  )

  app.get('/v1/users/:id', routes.read, async function readUser(request) {
    const missing = () => notFound('user', request.params.id)
    return visible(db, request).select(columnsOf(User, request)).executeTakeFirstOrThrow(missing)
  })

  app.put('/v1/users/:id', routes.replace, async function replaceUser(request, reply) {
    if (request.expectedVersion !== null) return updateUser(request)
    const { id } = request.params
    await expectNewId(db, 'users', request)
    const values = { id, ...writableOf(request.body, { id }, NewUser) }
    const user = await db.insertInto('users').values(values).returningAll().executeTakeFirstOrThrow()
    return reply.code(201).header('location', `/v1/users/${id}`).send(user)
  })

  app.patch('/v1/users/:id', routes.update, updateUser)

  app.delete('/v1/users/:id', routes.remove, async function deleteUser(request, reply) {
    const deleted = await db
      .deleteFrom('users')
      .where('id', '=', request.params.id)
      .where(isVisible(request, 'id'))
      .where(isExpected(request))
      .returning('updated_at')
      .executeTakeFirst()
    expectItem('user', request, deleted)
    return reply.code(204).send()
  })

  /** Writes the members of a body whose values are new; without one, the user stays as it is. */
  async function updateUser(request: ItemRequest<Static<typeof UserPatch>>) {
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
        .where('id', '=', user.id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: RequestById) {
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

  app.post(
    '/v1/users/:id/verify_email',
    {
      schema: {
        operationId: 'verifyEmail',
        summary: 'Verify the email address of a user',
        description: 'Starts an operation that checks the address. It has no result.',
        ...routes.action.schema,
        body: noMembers,
      },
      config: {
        bearer: { scopes: ['users:write'] },
        caching: { validators: findVersion },
        operations: { starts: 'users.verify-email' },
        pathGuard: { except: ['underscore'], reason: 'clients know it by this name' },
      },
    },
    async function verifyEmail(request, reply) {
      const { id } = request.params
      expectItem('user', request, await visible(db, request).select('updated_at').executeTakeFirst())
      return reply.startOperation('users.verify-email', { id: String(id) })
    },
  )

  const follow = {
    schema: {
      operationId: 'followUser',
      summary: 'Follow user',
      description: 'Makes the caller a friend of the user. Repeated, it changes nothing.',
      ...routes.action.schema,
      body: noMembers,
      response: { 204: noContent },
    },
    config: {
      bearer: { scopes: ['friends:write'] },
      problems: { codes: { 'reference-not-found': 422, 'friend-of-self': 422, 'already-exists': 409 } },
    },
  }
  app.post('/v1/users/:id/follow', follow, async function followUser(request, reply) {
    await addFriend(requireUser(request), request.params.id)
    return reply.code(204).send()
  })
  app.post(
    '/v1/user/:id/follow',
    {
      schema: {
        ...follow.schema,
        operationId: 'followUserBySingular',
        description: 'The same as below `/v1/users`, for older clients.',
      },
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
  return queries.selectFrom('users').where('id', '=', request.params.id).where(isVisible(request, 'id'))
}
