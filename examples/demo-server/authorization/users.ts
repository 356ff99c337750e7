import { userIdOf } from '../caller.js'
import type { Database } from '../database.js'
import type { LoginUser } from './login-page.js'

/** Returns the user of an id in text; `null` if there is none. */
export async function findUser(db: Database, subject: string): Promise<LoginUser | null> {
  const id = userIdOf(subject)
  if (id === null) return null
  const user = await db.selectFrom('users').select(['id', 'name']).where('id', '=', id).executeTakeFirst()
  return user ?? null
}

/** Returns the first users, for a page that lists them. */
export async function firstUsers(db: Database): Promise<LoginUser[]> {
  return db.selectFrom('users').select(['id', 'name']).orderBy('id').limit(20).execute()
}
