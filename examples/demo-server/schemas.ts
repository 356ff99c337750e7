import type { Collection, Field, JsonSchema } from './declaration.js'
import { timestamp } from './field-types.js'

/** The id of an item, in its path. */
export const idParams: JsonSchema = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: { type: 'integer', format: 'int64', minimum: 0, description: 'Id of the item' } },
}

/** The query of a route that has no parameters. */
export const noQuery: JsonSchema = { type: 'object', additionalProperties: false, properties: {} }

/** One item as it is answered; `$ref: '<singular>#'` names it. */
export function itemSchema({ singular, description, fields }: Collection): JsonSchema {
  const properties = {
    id: { type: 'integer', format: 'int64', description: `Id of the ${singular}` },
    ...mapFields(fields, ({ schema }) => schema),
    created_at: timestampOfService('When it was created'),
    updated_at: timestampOfService('When it last changed'),
  }
  return {
    $id: singular,
    title: singular,
    description,
    type: 'object',
    required: Object.keys(properties),
    additionalProperties: false,
    properties,
  }
}

/** One page of the collection. */
export function listSchema({ name, singular }: Collection): JsonSchema {
  return {
    type: 'object',
    required: [name],
    additionalProperties: false,
    properties: {
      [name]: { type: 'array', items: { $ref: `${singular}#` } },
      total: {
        type: 'integer',
        description: 'How many there are in all pages; only with include_total=true',
      },
    },
  }
}

/** The filters of a list; the paging parameters are the package's. */
export function filterQuery({ fields, filters }: Collection): JsonSchema {
  const properties = filters.map((name) => [name, fields[name]?.schema])
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
}

/** The body of a create: what is left out takes its default. */
export function bodySchema({ fields }: Collection): JsonSchema {
  const writable = writableFields(fields)
  return {
    type: 'object',
    required: Object.keys(writable).filter((name) => writable[name]?.required === true),
    additionalProperties: false,
    properties: mapFields(writable, (field) =>
      field.default === undefined ? field.schema : { ...field.schema, default: field.default },
    ),
  }
}

/** The body of a replace: that of a create, and the read-only members, so that what was read can be sent as it is. */
export function replaceSchema(collection: Collection): JsonSchema {
  const { properties, ...rest } = bodySchema(collection)
  return { ...rest, properties: { ...(properties as JsonSchema), ...readOnlyMembers(collection) } }
}

/** The body of an update, a merge patch (RFC 7396): what is left out stays, `null` takes a field's value away. */
export function patchSchema(collection: Collection): JsonSchema {
  const writable = mapFields(writableFields(collection.fields), ({ schema }) => schema)
  return {
    type: 'object',
    additionalProperties: false,
    properties: { ...writable, ...readOnlyMembers(collection) },
  }
}

function writableFields(fields: Collection['fields']): Collection['fields'] {
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => field.readOnly !== true))
}

function readOnlyMembers({ singular, fields }: Collection): Record<string, JsonSchema> {
  const ofService = Object.entries(fields).filter(([, field]) => field.readOnly === true)
  const members: Record<string, JsonSchema> = {
    id: { type: 'integer', format: 'int64', minimum: 0, description: `Id of the ${singular}` },
    ...mapFields(Object.fromEntries(ofService), ({ schema }) => schema),
    created_at: timestamp('When it was created'),
    updated_at: timestamp('When it last changed'),
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, schema]) => [name, { ...schema, readOnly: true }]),
  )
}

function mapFields(fields: Collection['fields'], toSchema: (field: Field) => JsonSchema) {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toSchema(field)]))
}

function timestampOfService(description: string): JsonSchema {
  return { type: 'string', format: 'date-time', description }
}
