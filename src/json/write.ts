import type { Json } from '../json-schema/schema-refs.js'
import type { Member } from '../json-schema/schema-shape.js'
import type { OnLostDigits } from './integer-text.js'

/** Writes a value as JSON. */
export type Write = (value: unknown, onLost: OnLostDigits) => string

/** Compiles a JSON Schema into the serializer that the app itself would use for it. */
export type CompileSerializer = (schema: Json) => (value: unknown) => string

/** A member of an object as it is written: with its twin, where it has one. */
export interface WrittenMember extends Member {
  /** JSON of the value, followed by the twin and its key. */
  readonly write: Write
  /** Where it is the declared twin of a number that has none of its own in every alternative. */
  readonly declaredTwin?: DeclaredTwin | undefined
}

/** What a declared member, called like a twin, is the twin of. */
export interface DeclaredTwin {
  /** The name of the number. */
  readonly of: string
  /** Is the number in this object followed by its own twin, which stands in the member's place? */
  readonly isReplaced: (object: object) => boolean
}
