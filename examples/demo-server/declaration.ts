import type { CachingRouteOptions, Format } from 'fastify-conventions'

/** A JSON Schema (draft 7), as Fastify takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** One field of a collection, which is also one column of its table. */
export interface Field {
  /** What its values look like, on the wire and in the OpenAPI document. */
  readonly schema: JsonSchema
  /** Must be in the body of a create and of a replace. A field that is not required has a `default`. */
  readonly required?: true
  /** The value where a create or a replace leaves the field out. */
  readonly default?: string | number | boolean | null
  /** Set by the service alone: a body may repeat the value, and not change it. */
  readonly readOnly?: true
  /** Only an admin gives it another value than the default, or than the one it has. */
  readonly reserved?: true
  /** For a read-only field: goes back to its `default` when the field named here changes. */
  readonly resetBy?: string
  /** The collection whose id the field holds. */
  readonly references?: string
}

/** A set of fields whose values no two rows share. */
export interface Uniqueness {
  readonly fields: readonly string[]
  /** Are `Ada@example.com` and `ada@example.com` the same? Needs a single text field. */
  readonly ignoreCase?: true
}

/** A rule over several fields of one row; the database enforces it as a check constraint of that name. */
export interface RowRule {
  readonly constraint: string
  /** Code of the problem that tells of a breach. */
  readonly code: string
  /** The field to blame. */
  readonly field: string
  /** What is wrong, for the client's developer. */
  readonly message: string
}

/** The field that says to whom an item belongs. */
export interface Ownership {
  /** Holds the id of a user; `id` where the items are users. */
  readonly field: string
  /** Where the field holds the id of an item of another collection: to whom that belongs, this one does too. */
  readonly of?: Collection
}

/** Everything the service has to know about a collection; the routes and the SQL follow from it. */
export interface Collection {
  /** Plural: the path segment, the table, and the member that holds the items of a list. */
  readonly name: string
  /** What one item is called. */
  readonly singular: string
  readonly description: string
  /** All fields but `id`, `created_at` and `updated_at`, which every collection has. */
  readonly fields: Readonly<Record<string, Field>>
  /** To whom an item belongs: who sees it, besides admins. */
  readonly owner: Ownership
  readonly unique?: readonly Uniqueness[]
  readonly rules?: readonly RowRule[]
  /** Values of `status` that no write leaves, as no action does. */
  readonly finalStatuses?: readonly string[]
  /** Fields that a list can be narrowed by: `?status=paid`. */
  readonly filters: readonly string[]
  /** Fields that a read or a list answers where the client selects none. Default: all. */
  readonly defaultFields?: readonly string[]
  /** Callers are items of it: `me` is the caller's own. */
  readonly hasCallers?: true
  /** A create may be left to an operation, for clients that would rather not wait (`Prefer: respond-async`). */
  readonly createsAsync?: true
  /** Formats of lists besides JSON. With XML, items have it too, and a create reads it. */
  readonly formats?: readonly Format[]
  /** How a list may be kept by caches. Default: validated before each use. */
  readonly listCaching?: CachingRouteOptions
  /** The same for one item. Default: by the caller's own cache, validated before each use. */
  readonly itemCaching?: CachingRouteOptions
}
