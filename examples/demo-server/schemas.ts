import { Int64 } from 'fastify-conventions/typebox'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'

/** Members that a schema does not name are refused. */
export const closed = { additionalProperties: false } as const

export const idParams = Type.Object({ id: Int64({ minimum: 0, description: 'Id of the item' }) }, closed)

export const noQuery = Type.Object({}, closed)

/** The body of an action without members of its own: no body, or an empty object. */
export const noMembers = Type.Unsafe<null | object>({
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {},
})

/** Free text of one line: no control characters, no lone surrogates (neither fits into the database), not blank. */
export function line(maxLength: number, description: string) {
  return Type.String({ minLength: 1, maxLength, pattern: '^(?!\\s*$)[^\\p{Cc}\\p{Cs}]+$', description })
}

export function reference(description: string) {
  return Int64({ minimum: 0, description })
}

/** An amount in the minor unit of its currency, such as cents: a Number in a body, a BigInt in a row. */
export function minorUnits(description: string) {
  return Type.Unsafe<number | bigint>({
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description,
  })
}

export const currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'Currency, ISO 4217' })

export function oneOf<const Word extends string>(words: readonly Word[], description: string) {
  return Type.Unsafe<Word>({ type: 'string', enum: words, description })
}

// Narrower than the format by itself, so that every value fits into the database.
export function timestamp(description: string) {
  return Type.String({
    format: 'date-time',
    pattern:
      '^(19|20)\\d{2}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-](0\\d|1[0-3]):[0-5]\\d|[+-]14:00)$',
    description,
  })
}

export function nullable<Schema extends TSchema & { readonly type: string }>(schema: Schema) {
  return Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] })
}

/** A member that a body may leave out: the validator gives it this value, so the handler always has one. */
export function withDefault<Schema extends TSchema>(schema: Schema, value: Static<Schema>) {
  const optional: TSchema = Type.Optional(Type.Unsafe<Static<Schema>>({ ...schema, default: value }))
  return optional as Type.TUnsafe<Static<Schema>>
}

/** A member that the service sets: a body may repeat its value. */
export function readOnly<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Unsafe<Static<Schema>>({ ...schema, readOnly: true }))
}

/** One item of a collection as a response has it; `$ref: '<name>#'` refers to it. */
export function itemOf<Fields extends TProperties>(name: string, description: string, fields: Fields) {
  const properties = {
    id: Int64({ description: `Id of the ${name}` }),
    ...fields,
    created_at: Type.String({ format: 'date-time', description: 'When it was created' }),
    updated_at: Type.String({ format: 'date-time', description: 'When it last changed' }),
  }
  const item = Type.Object(properties, { $id: name, title: name, description, ...closed })
  return item as typeof item & { readonly $id: string; readonly description: string }
}

/** The members that every item has and no body changes: a client can send back what it has read. */
export const readOnlyMembers = {
  id: readOnly(Int64({ minimum: 0, description: 'Id of the item' })),
  created_at: readOnly(timestamp('When it was created')),
  updated_at: readOnly(timestamp('When it last changed')),
}

export interface Item extends TSchema {
  readonly $id: string
  readonly properties: TProperties
}

export function itemResponse<Of extends Item>(item: Of, description = `The ${item.$id}`, more: object = {}) {
  return Type.Unsafe<Partial<Static<Of>>>({ description, ...more, $ref: `${item.$id}#` })
}

export function createdResponse<Of extends Item>(item: Of) {
  const Location = { type: 'string', description: `Where the ${item.$id} is` }
  return itemResponse(item, `The new ${item.$id}`, { headers: { Location } })
}

export function listResponse(collection: string, item: Item) {
  const total = Type.Integer({ description: 'How many there are in all pages; only with include_total=true' })
  const items = Type.Array(Type.Unsafe<unknown>({ $ref: `${item.$id}#` }))
  return Type.Object(
    { [collection]: items, total: Type.Optional(total) },
    { description: `One page of the ${collection}`, ...closed },
  )
}

export const noContent = Type.Unsafe<unknown>({ description: 'It is done', type: 'null' })
