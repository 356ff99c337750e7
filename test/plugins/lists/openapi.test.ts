/** Decisions.md §3 "Lists" and design.md: what OpenAPI shows of paging is what runs. */
import fc from 'fast-check'
import t from 'tap'
import { describePages, missingMembers, withPaging } from '../../../src/plugins/lists/openapi.js'
import { cursorParameters, type PageRules } from '../../../src/plugins/lists/page.js'

interface Properties {
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const paging: PageRules = {
  defaultLimit: 20,
  maxLimit: 100,
  idFormat: 'int64',
  by: ['id', 'time'],
  total: true,
}

t.test('a route without a schema gets the five parameters', async (t) => {
  const schema: { querystring?: unknown } = withPaging(undefined, paging)
  t.same(Object.keys(schema), ['querystring'])
  t.match(schema.querystring, { type: 'object' })
  t.same(Object.keys(parametersOf(schema)), ['limit', ...cursorParameters, 'include_total'])
})

t.test('the parameters match the options of the route', async (t) => {
  const { limit, before_id, before_time, after_id, include_total } = parametersOf(withPaging({}, paging))
  t.match(limit, { type: 'integer', minimum: 1, default: 20, description: /100/ })
  t.match(before_id, { type: 'integer', format: 'int64', minimum: 0 })
  t.match(after_id, { type: 'integer', format: 'int64', minimum: 0 })
  t.match(before_time, { type: 'string', format: 'date-time' })
  t.match(include_total, { type: 'boolean', default: false })
  const text = parametersOf(withPaging({}, { ...paging, idFormat: 'text' }))
  t.match(text.before_id, { type: 'string' })
  t.notOk(Object.hasOwn(text.after_id ?? {}, 'format'), 'an id that is text has no format')
})

t.test('parameters that the route declares do not change', async (t) => {
  const limit = { type: 'integer', maximum: 10 }
  const status = { type: 'string', enum: ['paid'] }
  const schema = {
    tags: ['orders'],
    summary: 'Orders',
    querystring: {
      type: 'object',
      additionalProperties: false,
      required: ['status'],
      properties: { limit, status },
    },
  }
  const completed: typeof schema = withPaging(schema, paging)
  t.match(completed, { tags: ['orders'], summary: 'Orders' })
  t.match(completed.querystring, { additionalProperties: false, required: ['status'] })
  t.strictSame(parametersOf(completed).limit, limit)
  t.strictSame(parametersOf(completed).status, status)
  t.ok(Object.hasOwn(parametersOf(completed), 'before_id'))
})

t.test('`query` is the other name of `querystring`', async (t) => {
  const schema = { query: { type: 'object', properties: { status: { type: 'string' } } } }
  const completed = withPaging<{ query?: unknown; querystring?: unknown }>(schema, paging)
  t.same(Object.keys(completed), ['querystring'])
  t.ok(Object.hasOwn(parametersOf(completed), 'status'))
})

t.test('a query schema that is not a plain JSON Schema object is not changed', async (t) => {
  class Validator {
    readonly properties = {}
  }
  for (const querystring of [{ $ref: 'paging#' }, new Validator(), true, 'text', [{ type: 'object' }]]) {
    const completed: { querystring: unknown } = withPaging({ querystring }, paging)
    t.equal(completed.querystring, querystring, JSON.stringify(querystring))
  }
})

t.test(
  'responses have a Link header in the description of the route, and no response is made up',
  async (t) => {
    t.match(describePages.headers, { Link: { type: 'string' } })
    t.notOk(Object.hasOwn(withPaging({}, paging), 'response'))
  },
)

t.test('response headers of the route do not change, its own Link too', async (t) => {
  const headers = { Link: { type: 'string', description: 'mine' }, ETag: { type: 'string' } }
  const completed: { response: { 200: { headers: unknown } } } = withPaging(
    { response: { 200: { headers } } },
    paging,
  )
  t.same(completed.response[200].headers, headers)
})

const name = fc.constantFrom('limit', 'before_id', 'status', 'q')
const query = fc.record(
  { type: fc.constant('object'), properties: fc.dictionary(name, fc.constant({ type: 'string' })) },
  { requiredKeys: [] },
)
const response = fc.dictionary(
  fc.constantFrom('200', '2xx', '404', 'default'),
  fc.record(
    { type: fc.constant('object'), headers: fc.constant({ Link: { type: 'null' } }) },
    { requiredKeys: ['type'] },
  ),
)
const schema = fc.record({ querystring: query, response, tags: fc.constant(['x']) }, { requiredKeys: [] })

t.test('a second completion changes nothing, and the input schema is not changed', async () => {
  fc.assert(
    fc.property(schema, (received) => {
      const before = JSON.stringify(received)
      const once = withPaging(received, paging)
      const twice = withPaging(once, paging)
      return JSON.stringify(twice) === JSON.stringify(once) && JSON.stringify(received) === before
    }),
  )
})

t.test('parameters that the list does not support are not shown', async (t) => {
  const names = (more: Partial<PageRules>): string[] =>
    Object.keys(parametersOf(withPaging({}, { ...paging, ...more })))
  t.same(names({ by: ['id'] }), ['limit', 'before_id', 'after_id', 'include_total'])
  t.same(names({ by: ['time'], total: false }), ['limit', 'before_id', 'before_time'])
})

t.test('missingMembers() finds members that a response schema would remove', async (t) => {
  const users = { type: 'array', items: {} }
  const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
  const shared = { list: { $id: 'list', ...object({ users }) } } as never
  const rows: readonly (readonly [response: unknown, missing: string[]])[] = [
    [undefined, []],
    [{ 404: object({}) }, []],
    [{ 200: {} }, []],
    [{ 200: object({ users, total: { type: 'integer' } }) }, []],
    [{ 200: object({ users }) }, ['total']],
    [{ '2xx': object({ users }) }, ['total']],
    [{ 200: object({ items: users, total: {} }) }, ['users']],
    [{ 200: object({}) }, ['users', 'total']],
    [{ 200: users }, ['users', 'total']],
    [{ 200: object({}, { additionalProperties: true }) }, []],
    [{ 200: object({ users }, { patternProperties: { '^t': {} } }) }, []],
    [{ 200: { $ref: 'list#' } }, ['total']],
    [{ 200: { $ref: 'nothing#' } }, []],
    [{ 200: { allOf: [object({ users }), object({ total: {} })] } }, []],
    [{ 200: { content: { 'application/json': { schema: object({ users }) } } } }, ['total']],
  ]
  for (const [response, missing] of rows)
    t.strictSame(missingMembers(response, ['users', 'total'], shared), missing, JSON.stringify(response))
})

function parametersOf(schema: { readonly querystring?: unknown }): Properties['properties'] {
  return (schema.querystring as Properties).properties
}
