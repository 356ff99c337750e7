import { isField } from '../../json-schema/field-names.js'
import { isSchemaObject, type SchemaStore } from '../../json-schema/json-schema.js'
import { type RouteSchema, withQueryParameters } from '../../json-schema/query-schema.js'
import { bodyFor, responseBodies } from '../../json-schema/responses.js'
import { shapeOf } from '../../json-schema/shape-reader.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { type PageParameter, type PageRules, servedParameters } from './page.js'

/** The rules that the schema of a list route shows. */
export type PagingSchema = PageRules

/**
 * The schema of a route with the paging parameters in its query. What the route declares itself stays; a query schema that is a reference is written out, one of another validator is left as it
 * is (see {@link withQueryParameters}).
 *
 * @param shared gives the schemas that a query schema may refer to
 */
export function withPaging<Schema extends RouteSchema>(
  schema: Schema | undefined,
  paging: PagingSchema,
  shared: () => SchemaStore = () => ({}),
): Schema {
  return withQueryParameters(schema, parameters(paging), shared)
}

/** The header field of pages, and the refusal of parameters that name no page. */
export const describePages: RouteDescription = {
  headers: {
    Link: { type: 'string', description: 'The next page has rel="next"; there is none on the last page' },
  },
  problems: problemsOf({ validation: 'The input is invalid' }),
}

/**
 * Returns the names in `members` that the response schema of 200 would remove from a list. Returns none if there is no
 * such schema, or if it cannot be read.
 *
 * @param shared gives the schemas that the response schema may refer to
 */
export function missingMembers(response: unknown, members: readonly string[], shared: SchemaStore): string[] {
  const schema = bodyFor(responseBodies(response), 200)?.schema
  if (!isSchemaObject(schema)) return []
  try {
    const shape = shapeOf(schema, shared)
    // A list is an object: the members of an array's items do not count.
    return members.filter((name) => shape.kind === 'array' || !isField(shape, [name]))
  } catch {
    // The compiler of the schema reports it.
    return []
  }
}

/** The names of the parameters of a list. */
export function parameterNames(paging: PagingSchema): readonly string[] {
  return Object.keys(parameters(paging))
}

function parameters(paging: PagingSchema): Record<string, unknown> {
  const served = servedParameters(paging)
  return Object.fromEntries(
    Object.entries(allParameters(paging)).filter(([name]) => served[name as PageParameter]),
  )
}

function allParameters({
  defaultLimit,
  maxLimit,
  idFormat,
  by,
}: PagingSchema): Record<PageParameter, unknown> {
  const id = idFormat === 'int64' ? { type: 'integer', format: 'int64', minimum: 0 } : { type: 'string' }
  return {
    limit: {
      type: 'integer',
      minimum: 1,
      default: defaultLimit,
      description: `Items on the page; more than ${maxLimit} is lowered to ${maxLimit}`,
    },
    before_id: {
      ...id,
      description: by.includes('id')
        ? 'Items before this one, newest first'
        : 'With before_time: breaks ties between items of the same time',
    },
    before_time: {
      type: 'string',
      format: 'date-time',
      description: 'Items before this time, newest first; with before_id, which then breaks ties',
    },
    after_id: { ...id, description: 'Items after this one, oldest first' },
    include_total: {
      type: 'boolean',
      default: false,
      description: 'Add the number of all items as total; expensive',
    },
  }
}
