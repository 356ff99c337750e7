import { type RouteSchema, withQueryParameters } from './query-schema.js'

/** The schema of a route with the `fields` parameter in its query. */
export function withFieldsParameter<Schema extends RouteSchema>(
  schema: Schema | undefined,
  defaults: readonly string[] | null,
): Schema {
  const otherwise = defaults === null ? 'all' : defaults.join(', ')
  return withQueryParameters(schema, {
    fields: {
      // Given more than once it is a list: the union.
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      description: `Names of the fields to answer, separated by commas; dots lead into objects, * is all. Default: ${otherwise}`,
    },
  })
}
