import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { isField } from '../../schema/field-names.js'
import { isSchemaObject, type SchemaStore } from '../../schema/json-schema.js'
import { type DescribedSchema, type DocumentOperation, withQuery } from '../../schema/openapi.js'
import { bodyFor, responseBodies } from '../../schema/responses.js'
import { shapeOf } from '../../schema/shape-reader.js'
import { wordsOf } from '../../words/words.js'
import { type PageParameter, type PageRules, servedParameters } from './page.js'

export function documentPages(paging: PageRules): DocumentOperation {
  const described = parameters(paging)
  return (operation) => withQuery(operation, described)
}

const link = {
  Link: { type: 'string', description: 'The next page has rel="next"; there is none on the last page' },
}

export const describePages: RouteDescription = {
  headers: link,
  headersOf: { 304: link },
  problems: problemsOf({ validation: 'The input is invalid' }),
}

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

export function parameterNames(paging: PageRules): readonly string[] {
  return Object.keys(parameters(paging))
}

function parameters(paging: PageRules): Record<string, DescribedSchema> {
  const { defaultLimit, maxLimit, idFormat, by } = paging
  const served = servedParameters(paging)
  const id = idFormat === 'int64' ? { type: 'integer', format: 'int64', minimum: 0 } : { type: 'string' }
  const all: Record<PageParameter, DescribedSchema> = {
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
  return Object.fromEntries(Object.entries(all).filter(([name]) => served[name as PageParameter]))
}

const offsets: ReadonlySet<string> = new Set(
  'offset, skip, start index, page, page index, page no, page num, page number, page offset'.split(', '),
)

/** Finds parameters that page by offset, in any key style: `page` alone, or with a word that makes it a number. */
export function offsetBreach(names: Iterable<string>) {
  const found = [...names].filter((name) => offsets.has(wordsOf(name).join(' ')))
  if (found.length === 0) return null
  return {
    problem: `pages by offset: ${found.join(', ')}`,
    instead: 'config.lists: {}, which pages by key: limit, before_id, after_id',
  }
}
