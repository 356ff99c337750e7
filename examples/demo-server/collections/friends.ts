import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { ExpressionBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { takeMergePatches } from '../bodies.js'
import { forbidden, type Owner, ownerOf } from '../caller.js'
import { changesOf, writableOf } from '../changes.js'
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
  listResponse,
  noQuery,
  readOnlyMembers,
  reference,
} from '../schemas.js'
import type { Service } from '../service.js'
import type { Tables } from '../tables.js'

const fields = {
  user_id: reference('The user who has the friend'),
  friend_user_id: reference('The user who is the friend'),
}

/** Who counts whom as a friend; the other direction is a row of its own. */
export const Friend = itemOf('friend', 'Who counts whom as a friend', fields)
const NewFriend = Type.Object(fields, closed)
const WholeFriend = Type.Object({ ...fields, ...readOnlyMembers('friend') }, closed)
const FriendPatch = Type.Object(
  { ...Type.Partial(NewFriend).properties, ...readOnlyMembers('friend') },
  closed,
)
const Filters = Type.Partial(NewFriend, closed)

const ofItem = { tags: ['friends'], params: idParams, querystring: noQuery }

/** Mounts `/v1/friends`. */
export const friends: FastifyPluginAsyncTypebox<Service> = async function mountFriends(app, { db }) {
  const reading = { scopes: ['friends:read'] }
  const codes = { 'already-exists': 409, 'reference-not-found': 422, 'friend-of-self': 422 }
  const writing = {
    bearer: { scopes: ['friends:write'] },
    problems: { codes },
    caching: { validators: findVersion, validatorsOf },
  }

  app.get(
    '/v1/friends',
    {
      schema: {
        operationId: 'listFriends',
        summary: 'List friends',
        tags: ['friends'],
        querystring: Filters,
        response: { 200: listResponse('friends', Friend) },
      },
      config: {
        bearer: reading,
        lists: { member: 'friends' },
        fields: {},
        // Used without asking again, by one browser; who logs in to it next has other friends.
        caching: {
          cacheControl: { private: true, maxAge: 5, staleWhileRevalidate: 30 },
          vary: ['Authorization'],
        },
      },
    },
    async function listFriends(request, reply) {
      const found = db
        .selectFrom('friends')
        .where(visibleTo(ownerOf(request)))
        .where(({ and }) => and(given(request.query, ['user_id', 'friend_user_id'])))
      const rows = await onePage(found.select(listColumnsOf(Friend, request)), request.page).execute()
      if (!request.page.includeTotal) return reply.list(rows)
      const { total } = await found
        .select(({ fn }) => fn.countAll<bigint>().as('total'))
        .executeTakeFirstOrThrow()
      return reply.list(rows, total)
    },
  )

  app.post(
    '/v1/friends',
    {
      schema: {
        operationId: 'createFriend',
        summary: 'Create friend',
        tags: ['friends'],
        querystring: noQuery,
        body: NewFriend,
        response: { 201: createdResponse(Friend, 'The new friend') },
      },
      config: { ...writing, caching: { validatorsOf } },
    },
    async function createFriend(request, reply) {
      refuseForeign(ownerOf(request), request.body.user_id)
      const friend = await db
        .insertInto('friends')
        .values(request.body)
        .returningAll()
        .executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/friends/${friend.id}`).send(friend)
    },
  )

  app.get(
    '/v1/friends/:id',
    {
      schema: {
        operationId: 'readFriend',
        summary: 'Read friend',
        ...ofItem,
        response: { 200: itemResponse(Friend, 'The friend') },
      },
      config: {
        bearer: reading,
        fields: {},
        caching: { cacheControl: { private: true, noCache: true }, validators: findVersion },
      },
    },
    async function readFriend(request) {
      const missing = () => notFound('friend', request.params.id)
      return visible(db, request).select(columnsOf(Friend, request)).executeTakeFirstOrThrow(missing)
    },
  )

  app.put(
    '/v1/friends/:id',
    {
      schema: {
        operationId: 'replaceFriend',
        summary: 'Replace friend',
        ...ofItem,
        body: WholeFriend,
        response: {
          200: itemResponse(Friend, 'The friend as it is now'),
          201: createdResponse(Friend, 'The new friend, made with If-None-Match: *'),
        },
      },
      config: { ...writing, problems: { codes: { ...codes, 'id-not-given-out': 422 } } },
    },
    async function replaceFriend(request, reply) {
      if (request.expectedVersion !== null) return update(request)
      // Any other precondition is about an item that is gone. Users do not choose ids: they would learn which are in use.
      const { id } = request.params
      if (request.headers['if-none-match'] !== '*' || ownerOf(request) !== 'all') throw notFound('friend', id)
      await refuseFutureId(db, 'friends', id)
      const values = { id, ...writableOf(request.body, { id }, NewFriend) }
      const friend = await db.insertInto('friends').values(values).returningAll().executeTakeFirstOrThrow()
      return reply.code(201).header('location', `/v1/friends/${id}`).send(friend)
    },
  )

  await app.register(async function mountPatch(scope: typeof app) {
    takeMergePatches(scope)
    scope.patch(
      '/v1/friends/:id',
      {
        schema: {
          operationId: 'updateFriend',
          summary: 'Update friend',
          ...ofItem,
          consumes: ['application/merge-patch+json', 'application/json'],
          body: FriendPatch,
          response: { 200: itemResponse(Friend, 'The friend as it is now') },
        },
        config: writing,
      },
      async function updateFriend(request) {
        return update(request)
      },
    )
  })

  app.delete(
    '/v1/friends/:id',
    {
      schema: {
        operationId: 'deleteFriend',
        summary: 'Delete friend',
        ...ofItem,
        response: { 204: emptyResponse('The friend is gone') },
      },
      config: { ...writing, problems: { codes: { 'still-referenced': 409 } } },
    },
    async function deleteFriend(request, reply) {
      const deleted = await db
        .deleteFrom('friends')
        .where('id', '=', request.params.id)
        .where(visibleTo(ownerOf(request)))
        .where(isExpected(request))
        .returning('updated_at')
        .executeTakeFirst()
      expectItem('friend', request, deleted)
      return reply.code(204).send()
    },
  )

  /** Writes the members of a body whose values are new; without one, the friend stays as it is. */
  async function update(request: ItemRequest<Static<typeof FriendPatch>>) {
    const { id } = request.params
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const friend = expectItem('friend', request, found)
      const changes = changesOf(writableOf(request.body, friend, NewFriend), friend)
      refuseForeign(ownerOf(request), changes.user_id)
      if (Object.keys(changes).length === 0) return friend
      return trx
        .updateTable('friends')
        .set({ ...changes, updated_at: nextVersion })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: FastifyRequest<ById>) {
    const friend = await visible(db, request).select('updated_at').executeTakeFirst()
    return friend === undefined ? null : validatorsOf(friend)
  }
}

/** Returns the query of the item that a request names, if the caller sees it. */
function visible(queries: Queries, request: ItemRequest) {
  const { id } = request.params
  return queries
    .selectFrom('friends')
    .where('id', '=', id)
    .where(visibleTo(ownerOf(request)))
}

/** Users see their own, and admins see all. */
function visibleTo(owner: Owner) {
  return ({ eb, lit }: ExpressionBuilder<Tables, 'friends'>) =>
    owner === 'all' ? lit(true) : eb('user_id', '=', owner)
}

function refuseForeign(owner: Owner, user_id: bigint | undefined): void {
  if (owner === 'all' || user_id === undefined || user_id === owner) return
  throw forbidden('user_id: only an admin writes a friend of another user')
}
