import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { mountCollection } from '../collection.js'
import type { Service } from '../database.js'
import { itemOf, reference } from '../schemas.js'

const fields = {
  user_id: reference('The user who has the friend'),
  friend_user_id: reference('The user who is the friend'),
}

/** Who counts whom as a friend; the other direction is a row of its own. */
export const Friend = itemOf('friend', 'Who counts whom as a friend', fields)

export const friends: FastifyPluginAsyncTypebox<Service> = async function mountFriends(app, service) {
  mountCollection(app, service, {
    item: Friend,
    fields,
    filters: ['user_id', 'friend_user_id'],
    visibility: 'Users see the friends that they have, and admins all.',
    codes: { 'already-exists': 409, 'reference-not-found': 422, 'friend-of-self': 422 },
    caching: {
      // Used without asking again, by one browser; who logs in to it next has other friends: `bearer` sends `Vary`.
      list: { cacheControl: { private: true, maxAge: 5, staleWhileRevalidate: 30 } },
      item: { private: true, noCache: true },
    },
  })
}
