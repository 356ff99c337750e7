/** What the schema of a list route has to say of paging. */
export interface PagingSchema {
  readonly defaultLimit: number
  readonly maxLimit: number
  readonly idFormat: 'int64' | 'text'
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly [keyword: string]: unknown
}

interface RouteSchema {
  readonly querystring?: unknown
  readonly query?: unknown
  readonly response?: unknown
}

/**
 * The schema of a route with the paging parameters in its query and `Link` among its response headers. What the
 * route declares itself stays; a query schema that is no plain JSON Schema object (a `$ref`, another validator's) is
 * left as it is.
 */
export function withPaging<Schema extends RouteSchema>(
  schema: Schema | undefined,
  paging: PagingSchema,
): Schema {
  const { querystring, query, response, ...rest } = schema ?? ({} as Schema)
  const declared = querystring ?? query ?? { type: 'object' }
  const completed = isObjectSchema(declared)
    ? { ...declared, properties: { ...parameters(paging), ...declared.properties } }
    : declared
  return {
    ...rest,
    querystring: completed,
    ...(response === undefined ? {} : { response: withLinkHeader(response) }),
  } as unknown as Schema
}

function parameters({ defaultLimit, maxLimit, idFormat }: PagingSchema): Record<string, unknown> {
  const id = idFormat === 'int64' ? { type: 'integer', format: 'int64', minimum: 0 } : { type: 'string' }
  return {
    limit: {
      type: 'integer',
      minimum: 1,
      default: defaultLimit,
      description: `Items on the page; more than ${maxLimit} is lowered to ${maxLimit}`,
    },
    before_id: { ...id, description: 'Items before this one, newest first' },
    before_time: {
      type: 'string',
      format: 'date-time',
      description: 'Items before this time, newest first; with before_id, which then breaks ties',
    },
    after_id: { ...id, description: 'Items after this one, oldest first' },
    include_total: { type: 'boolean', default: false, description: 'Count all items into total; costly' },
  }
}

const linkHeader = {
  type: 'string',
  description: 'The next page has rel="next"; there is none on the last page',
}

function withLinkHeader(response: unknown): unknown {
  if (!isObjectSchema(response)) return response
  const entries = Object.entries(response).map(([status, schema]) =>
    status.startsWith('2') && isObjectSchema(schema)
      ? [status, { ...schema, headers: { Link: linkHeader, ...(schema.headers as object | undefined) } }]
      : [status, schema],
  )
  return Object.fromEntries(entries)
}

// A plain object: other validators' schemas are instances of their classes.
function isObjectSchema(value: unknown): value is ObjectSchema {
  if (typeof value !== 'object' || value === null || '$ref' in value) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
