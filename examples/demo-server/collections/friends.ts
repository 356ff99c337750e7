import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { refuseForeign } from '../caller.js'
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
import { closed, itemOf, readOnlyMembers, reference } from '../schemas.js'

const fields = {
  user_id: reference('The user who has the friend'),
  friend_user_id: reference('The user who is the friend'),
}

/** Who counts whom as a friend; the other direction is a row of its own. */
export const Friend = itemOf('friend', 'Who counts whom as a friend', fields)
const NewFriend = Type.Object(fields, closed)
const WholeFriend = Type.Object({ ...fields, ...readOnlyMembers }, closed)
const FriendPatch = Type.Partial(WholeFriend, closed)
const Filters = Type.Partial(NewFriend, closed)

/** Mounts `/v1/friends`. */
export const friends: FastifyPluginAsyncTypebox<Service> = async function mountFriends(app, { db }) {
  const routes = routesOf({
    item: Friend,
    filters: Filters,
    bodies: { made: NewFriend, whole: WholeFriend, changed: FriendPatch },
    visibility: 'Users see the friends that they have, and admins all.',
    codes: { 'already-exists': 409, 'reference-not-found': 422, 'friend-of-self': 422 },
    findVersion,
    caching: {
      // Used without asking again, by one browser; who logs in to it next has other friends.
      list: {
        cacheControl: { private: true, maxAge: 5, staleWhileRevalidate: 30 },
        vary: ['Authorization'],
      },
      item: { private: true, noCache: true },
    },
  })

  app.get('/v1/friends', routes.list, async function listFriends(request, reply) {
    const found = db
      .selectFrom('friends')
      .where(isVisible(request))
      .where(({ and }) => and(given(request.query, Filters)))
    const { rows, total } = await readPage(found, Friend, request)
    return reply.list(rows, total)
  })

  app.post('/v1/friends', routes.create, async function createFriend(request, reply) {
    refuseForeign(request, request.body.user_id, 'a friend')
    const friend = await db
      .insertInto('friends')
      .values(request.body)
      .returningAll()
      .executeTakeFirstOrThrow()
    return reply.code(201).header('location', `/v1/friends/${friend.id}`).send(friend)
  })

  app.get('/v1/friends/:id', routes.read, async function readFriend(request) {
    const missing = () => notFound('friend', request.params.id)
    return visible(db, request).select(columnsOf(Friend, request)).executeTakeFirstOrThrow(missing)
  })

  app.put('/v1/friends/:id', routes.replace, async function replaceFriend(request, reply) {
    if (request.expectedVersion !== null) return updateFriend(request)
    const { id } = request.params
    await expectNewId(db, 'friends', request)
    const values = { id, ...writableOf(request.body, { id }, NewFriend) }
    const friend = await db.insertInto('friends').values(values).returningAll().executeTakeFirstOrThrow()
    return reply.code(201).header('location', `/v1/friends/${id}`).send(friend)
  })

  app.patch('/v1/friends/:id', routes.update, updateFriend)

  app.delete('/v1/friends/:id', routes.remove, async function deleteFriend(request, reply) {
    const deleted = await db
      .deleteFrom('friends')
      .where('id', '=', request.params.id)
      .where(isVisible(request))
      .where(isExpected(request))
      .returning('updated_at')
      .executeTakeFirst()
    expectItem('friend', request, deleted)
    return reply.code(204).send()
  })

  /** Writes the members of a body whose values are new; without one, the friend stays as it is. */
  async function updateFriend(request: ItemRequest<Static<typeof FriendPatch>>) {
    return db.transaction().execute(async (trx) => {
      const found = await visible(trx, request).selectAll().forNoKeyUpdate().executeTakeFirst()
      const friend = expectItem('friend', request, found)
      const changes = changesOf(writableOf(request.body, friend, NewFriend), friend)
      refuseForeign(request, changes.user_id, 'a friend')
      if (Object.keys(changes).length === 0) return friend
      return trx
        .updateTable('friends')
        .set({ ...changes, updated_at: nextVersion })
        .where('id', '=', friend.id)
        .returningAll()
        .executeTakeFirstOrThrow()
    })
  }

  async function findVersion(request: RequestById) {
    const friend = await visible(db, request).select('updated_at').executeTakeFirst()
    return friend === undefined ? null : validatorsOf(friend)
  }
}

/** Returns the query of the item that a request names, if the caller sees it. */
function visible(queries: Queries, request: ItemRequest) {
  return queries.selectFrom('friends').where('id', '=', request.params.id).where(isVisible(request))
}
