import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { ProblemError } from 'fastify-conventions'
import { sql } from 'kysely'
import { Type } from 'typebox'
import { forbidden, ownerOf, requireUser } from '../caller.js'
import { mountCollection } from '../collection.js'
import { isRefusedBy } from '../constraint-problems.js'
import type { Service } from '../database.js'
import { type ItemRequest, nextVersion, notFound } from '../items.js'
import { itemOf, line, noContent, noMembers, nullable } from '../schemas.js'
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
const ofService = { email_verified: Type.Boolean({ description: 'Has the user proven to own the address?' }) }

export const User = itemOf('user', 'The people who use the service', { ...fields, ...ofService })

export const users: FastifyPluginAsyncTypebox<Service> = async function mountUsers(app, { db, pace }) {
  const { action, find, findVersion } = mountCollection(
    app,
    { db, pace },
    {
      item: User,
      fields,
      defaults: { gender: null },
      ofService,
      filters: ['email', 'email_verified'],
      compare: { email: (value) => sql<boolean>`lower(email) = lower(${value})` },
      visibility: 'Users see themselves alone, and admins all.',
      isOwn: (user) => sql<boolean>`id = ${user}`,
      codes: { 'already-exists': 409 },
      // Only who asks for an address gets it.
      selection: { default: ['id', 'name', 'age', 'gender', 'email_verified', 'created_at', 'updated_at'] },
      toRow: (values) => ('email' in values ? { ...values, email_verified: false } : values),
      create: {
        description: 'Creates a user. Only an admin may.',
        config: { formats: ['xml'] },
        refuse(request) {
          if (ownerOf(request) !== 'all') throw forbidden('id: only an admin writes a user of another user')
        },
      },
    },
  )

  app.operations.define<{ readonly id: string }>('users.verify-email', { retryAfter: 1 }, async (context) => {
    const id = BigInt(context.input.id)
    const checked = await emailOf(id)
    await takeTime(context, 1_000, pace)
    const { numUpdatedRows } = await db
      .updateTable('users')
      .set({ email_verified: true, updated_at: nextVersion })
      .where('id', '=', id)
      .where('email', '=', checked)
      .where('email_verified', '=', false)
      .executeTakeFirst()
    if (numUpdatedRows > 0n || (await emailOf(id)) === checked) return
    throw new ProblemError('email-changed', { status: 409, detail: 'the address has changed meanwhile' })
  })

  async function emailOf(id: bigint): Promise<string> {
    const user = db.selectFrom('users').select('email').where('id', '=', id)
    return (await user.executeTakeFirstOrThrow(() => notFound('user', id))).email
  }

  app.post(
    '/v1/users/:id/verify_email',
    {
      schema: {
        operationId: 'verifyEmail',
        summary: 'Verify the email address of a user',
        description:
          'Starts an operation that checks the address. It has no result. The underscore is an exception: clients know it by this name.',
        ...action.schema,
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
      await find(db, request)
      return reply.startOperation('users.verify-email', { id: String(id) })
    },
  )

  const follow = {
    schema: {
      operationId: 'followUser',
      summary: 'Follow user',
      description: 'Makes the caller a friend of the user. Repeated, it changes nothing.',
      ...action.schema,
      body: noMembers,
      response: { 204: noContent },
    },
    config: {
      bearer: { scopes: ['friends:write'] },
      problems: { codes: { 'reference-not-found': 422, 'friend-of-self': 422, 'already-exists': 409 } },
    },
  }
  app.post('/v1/users/:id/follow', follow, followUser)
  app.post(
    '/v1/user/:id/follow',
    {
      schema: {
        ...follow.schema,
        operationId: 'followUserBySingular',
        description: 'The same as below `/v1/users`. The singular is an exception: older clients ask for it.',
      },
      config: {
        ...follow.config,
        pathGuard: { except: ['plural'], reason: 'older clients ask for it under the singular' },
        selfAlias: true,
      },
    },
    followUser,
  )

  /** Who follows already goes on to do so. */
  async function followUser(request: ItemRequest, reply: FastifyReply): Promise<void> {
    const friend_user_id = request.params.id
    await db
      .insertInto('friends')
      .values({ user_id: requireUser(request), friend_user_id })
      .onConflict((conflict) => conflict.columns(['user_id', 'friend_user_id']).doNothing())
      .execute()
      .catch((error: unknown) => {
        throw isRefusedBy('friends_friend_user_id_fkey', error) ? notFound('user', friend_user_id) : error
      })
    return reply.code(204).send()
  }
}
