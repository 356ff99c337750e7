import type { Collection } from '../declaration.js'
import { reference } from '../field-types.js'

/** Who counts whom as a friend; the other direction is a row of its own. */
export const friends: Collection = {
  name: 'friends',
  singular: 'friend',
  description: 'Who counts whom as a friend',
  fields: {
    user_id: { schema: reference('The user who has the friend'), required: true, references: 'users' },
    friend_user_id: { schema: reference('The user who is the friend'), required: true, references: 'users' },
  },
  owner: { field: 'user_id' },
  unique: [{ fields: ['user_id', 'friend_user_id'] }],
  rules: [
    {
      constraint: 'friends_not_self_check',
      code: 'friend-of-self',
      field: 'friend_user_id',
      message: 'must be another user than user_id',
    },
  ],
  filters: ['user_id', 'friend_user_id'],
  // Used without asking again, by one browser; who logs in to it next has other friends.
  listCaching: {
    cacheControl: { private: true, maxAge: 5, staleWhileRevalidate: 30 },
    vary: ['Authorization'],
  },
}
