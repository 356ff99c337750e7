import { userIdOf } from '../caller.js'
import type { Database } from '../database.js'
import type { LoginUser } from './login-page.js'

/** Returns the user of an id in text; `null` if there is none. */
export async function findUser(database: Database, subject: string): Promise<LoginUser | null> {
  const id = userIdOf(subject)
  if (id === null) return null
  const [row] = await database.query({ text: 'select id, name from users where id = $1', values: [id] })
  return row === undefined ? null : (row as unknown as LoginUser)
}

/** Returns the first users, for a page that lists them. */
export async function firstUsers(database: Database): Promise<LoginUser[]> {
  const rows = await database.query({ text: 'select id, name from users order by id limit 20' })
  return rows as unknown as LoginUser[]
}
