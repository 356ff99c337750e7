import type { OnLostDigits } from './integer-text.js'
import type { Member } from './schema-shape.js'

/** Writes a value as JSON. */
export type Write = (value: unknown, onLost: OnLostDigits) => string

/** A member of an object as it is written: with its twin, where it has one. */
export interface WrittenMember extends Member {
  /** JSON of the value, followed by the twin and its key. */
  readonly write: Write
}
