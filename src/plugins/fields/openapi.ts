import { type RouteSchema, withQueryParameters } from '../../json-schema/query-schema.js'
import {
  isSchemaObject,
  membersOf,
  type SchemaObject,
  type SchemaPart,
  SchemaParts,
} from '../../json-schema/schema-parts.js'
import type { Json, Located, SchemaStore } from '../../json-schema/schema-refs.js'

/**
 * The schema of a route with the `fields` parameter in its query.
 *
 * @param shared gives the schemas that a query schema may refer to
 */
export function withFieldsParameter<Schema extends RouteSchema>(
  schema: Schema | undefined,
  defaults: readonly string[] | null,
  shared: () => SchemaStore = () => ({}),
): Schema {
  const otherwise = defaults === null ? 'all' : defaults.join(', ')
  const fields = {
    // Given more than once it is a list: the union.
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: `Names of the fields to answer, separated by commas; dots lead into objects, * is all. Default: ${otherwise}`,
  }
  return withQueryParameters(schema, { fields }, shared)
}

/**
 * Do the response schemas name fields of what a 200 answers as JSON, so that a selection has something to select? Where
 * a reference leads to what is not there (yet), that cannot be told: then they may.
 *
 * @param lists names that the member with the items of a list may have
 * @param shared gives the schemas that the response schemas may refer to
 */
export function namesFields(response: unknown, lists: readonly string[], shared: () => SchemaStore): boolean {
  const schema = schemaOf200(response)
  if (schema === null) return false
  // Most schemas say so at once.
  const own = isSchemaObject(schema.properties) ? schema.properties : {}
  const list = lists.find((name) => Object.hasOwn(own, name))
  if (hasProperties(list === undefined ? schema : itemsOfOne(own[list]))) return true
  const parts = new SchemaParts(shared())
  const members = membersOf(itemParts(parts, [{ schema, root: schema }]))
  const items = lists.map((name) => itemsOf(parts.partsOf(members.get(name) ?? []))).find(isNotEmpty)
  const named = items === undefined ? members : membersOf(itemParts(parts, items))
  return named.size > 0 || parts.unresolved.size > 0
}

/**
 * The schema of what a 200 answers as JSON, found as Fastify finds it: by the status, by its class, the default; `null`
 * for none.
 */
export function schemaOf200(response: unknown): SchemaObject | null {
  if (!isSchemaObject(response)) return null
  for (const key of ['200', '2xx', 'default']) {
    const answer = Object.entries(response).find(([status]) => status.toLowerCase() === key)?.[1]
    const schema = isSchemaObject(answer) && 'content' in answer ? schemaOfJson(answer.content) : answer
    if (isSchemaObject(schema)) return schema
  }
  return null
}

function schemaOfJson(content: Json | undefined): Json | undefined {
  const bodies = isSchemaObject(content) ? Object.entries(content) : []
  const body = ['application/json', '*/*']
    .map((wanted) =>
      bodies.find(([mediaType]) => mediaType.split(';', 1)[0]?.trim().toLowerCase() === wanted),
    )
    .find((found) => found !== undefined)?.[1]
  return isSchemaObject(body) ? body.schema : undefined
}

/** All that speak of a value, or of the items of an array of such values. */
function itemParts(parts: SchemaParts, starts: readonly Located[]): readonly SchemaPart[] {
  const found = new Map<Json, SchemaPart>()
  const pending = [...parts.partsOf(starts)]
  for (const part of pending) {
    if (found.has(part.schema)) continue
    found.set(part.schema, part)
    pending.push(...parts.partsOf(itemsOf([part])))
  }
  return [...found.values()]
}

function itemsOfOne(schema: Json | undefined): Json | undefined {
  return isSchemaObject(schema) ? schema.items : undefined
}

function hasProperties(schema: Json | undefined): boolean {
  return (
    isSchemaObject(schema) && isSchemaObject(schema.properties) && Object.keys(schema.properties).length > 0
  )
}

function itemsOf(parts: readonly SchemaPart[]): Located[] {
  return parts.flatMap(({ schema, root }) =>
    isSchemaObject(schema.items) ? [{ schema: schema.items, root }] : [],
  )
}

function isNotEmpty(list: readonly unknown[]): boolean {
  return list.length > 0
}
