/** What OpenAPI shows of paging is what runs. */
import t from 'tap'
import { documentPages, missingMembers } from '../../../src/plugins/lists/openapi.js'
import { cursorParameters, type PageRules } from '../../../src/plugins/lists/page.js'
import type { Parameter } from '../../../src/schema/openapi.js'

const limits = { defaultLimit: 20, maxLimit: 100 }
const paging: PageRules = { ...limits, idFormat: 'int64', by: ['id', 'time'], total: true }

t.test('the parameters match the options of the route', async (t) => {
  t.same(Object.keys(parametersOf()), ['limit', ...cursorParameters, 'include_total'])
  const { limit, before_id, before_time, after_id, include_total } = parametersOf()
  t.match(limit, { schema: { type: 'integer', minimum: 1, default: 20 }, description: /100/ })
  t.match(before_id?.schema, { type: 'integer', format: 'int64', minimum: 0 })
  t.match(after_id?.schema, { type: 'integer', format: 'int64', minimum: 0 })
  t.match(before_time?.schema, { type: 'string', format: 'date-time' })
  t.match(include_total?.schema, { type: 'boolean', default: false })
  const text = parametersOf({ idFormat: 'text' })
  t.match(text.before_id?.schema, { type: 'string' })
  t.notOk(Object.hasOwn(text.after_id?.schema as object, 'format'), 'an id that is text has no format')
})

t.test('parameters that the list does not support are not shown', async (t) => {
  const names = (more: Partial<PageRules>): string[] => Object.keys(parametersOf(more))
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
    [{ 200: object({ users, total: { type: 'integer' } }) }, []],
    [{ 200: object({ items: users, total: {} }) }, ['users']],
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

function parametersOf(more: Partial<PageRules> = {}): Readonly<Record<string, Parameter>> {
  const { parameters: found = [] } = documentPages({ ...paging, ...more })({ parameters: [] }, {} as never)
  return Object.fromEntries(found.map((one) => [one.name, one]))
}
