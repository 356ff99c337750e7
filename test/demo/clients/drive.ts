/** Drives a demo by a generated client. */
export type Drive = (demo: {
  readonly origin: string
  readonly token: string
  /** Returns after a moment. */
  readonly pause: () => Promise<void>
}) => Promise<Driven>

/** What a generated client has seen. */
export interface Driven {
  /** Of the creation of a user and of the start of an operation. */
  readonly statuses: readonly number[]
  /** Of the user, with all digits. */
  readonly id: string
  /** After an update with `If-Match`. */
  readonly age: number | undefined
  /** Of the problems: a second user with the same address, and an update with an old `If-Match`. */
  readonly codes: readonly string[]
  readonly isOther: boolean
  /** Of the operation at its end. */
  readonly state: string | undefined
  /** The ids of the orders that were created, the newest first. */
  readonly orders: readonly string[]
  /** The ids of all pages. */
  readonly listed: readonly string[]
}
