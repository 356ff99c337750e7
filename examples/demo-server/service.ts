import type { Database } from './database.js'

/** What the routes need. */
export interface Service {
  readonly db: Database
  /** Of what takes long: 1 for that of a real service, less for a faster one. */
  readonly pace: number
}
