import { items } from '../../examples/demo-server/collections/index.js'

/** A collection of the demo, as its schema describes it. */
export interface Collection {
  readonly name: string
  readonly singular: string
  /** Schemas of the members, without `id`, `created_at` and `updated_at`. */
  readonly fields: Readonly<Record<string, { readonly type?: unknown }>>
  /** Members that hold the id of another item. */
  readonly references: readonly string[]
}

const ofEach = ['id', 'created_at', 'updated_at']

/** Members that no body changes. */
export const readOnlyFields: readonly string[] = [...ofEach, 'email_verified']

/** All collections; what others reference comes first. */
export const collections: readonly Collection[] = Object.entries(items).map(([name, { $id, properties }]) => {
  const fields = Object.entries(properties).filter(([field]) => !ofEach.includes(field))
  const references = fields.map(([field]) => field).filter((field) => field.endsWith('_id'))
  return { name, singular: $id, fields: Object.fromEntries(fields), references }
})
