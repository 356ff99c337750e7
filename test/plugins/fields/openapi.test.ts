/** The `fields` parameter as OpenAPI shows it. */
import t from 'tap'
import { documentFields, namesFields } from '../../../src/plugins/fields/openapi.js'
import { type Operation, openApiOf } from '../../../src/schema/openapi.js'
import { array, object, text } from './one-route.js'

function documented(operation: Operation, defaults?: readonly string[], schemas: object = {}): Operation {
  const openapi = openApiOf({ openapi: '3.1.0', components: { schemas } })
  if (openapi === null) throw new Error('no OpenAPI')
  const options = { mode: 'enforce' as const, ...(defaults && { default: defaults }) }
  return documentFields(options, { reads: true, lists: ['users'] })(operation, openapi)
}

t.test('a string, or a list if it is repeated; the description has the default', async (t) => {
  const description =
    'Names of the fields to answer, separated by commas; dots lead into objects, * is all. ' +
    'At most 64 names, 1024 characters, and 4 names with dots between them.'
  const rows: readonly (readonly [defaults: readonly string[] | undefined, otherwise: string])[] = [
    [undefined, 'all'],
    [['id'], 'id'],
    [['id', 'address.city'], 'id, address.city'],
  ]
  for (const [defaults, otherwise] of rows) {
    const schema = { anyOf: [text, array(text)] }
    const parameter = {
      in: 'query',
      name: 'fields',
      description: `${description} Default: ${otherwise}`,
      schema,
    }
    t.strictSame(documented({}, defaults).parameters, [parameter])
  }
})

const user = object({ name: text })
const shared = { user: { $id: 'user', ...user }, text: { $id: 'text', ...text } }
const list = (items: object): object => object({ users: array(items) })
const names = (response: unknown, lists: string[] = []) => namesFields(response, lists, () => shared)

t.test('nothing is required of what fields are selected from, and the rest stays required', async (t) => {
  const $ref = '#/components/schemas/item'
  const item = object({ name: text, of: { $ref } }, { required: ['name'] })
  const page = object({ users: array({ $ref }) }, { required: ['users'] })
  const answer = (schema: never) => ({ content: { 'application/json': { schema } } })
  const responses = { 200: answer(page as never), 201: answer({ $ref } as never), 404: answer(item as never) }
  const selected = documented({ responses }, undefined, { item }).responses
  const optional = object({ name: text, of: {} })
  t.strictSame(selected?.[200], answer({ ...page, properties: { users: array(optional) } } as never))
  t.equal(selected?.[201], responses[201], 'only 200 is selected from')
  t.equal(selected?.[404], responses[404])
  const single = documented({ responses: { 200: answer({ $ref } as never) } }, undefined, { item })
  t.strictSame(single.responses?.[200], answer(optional as never))
})

t.test('the parameter is added if the schema of 200 names fields', async (t) => {
  const rows: readonly (readonly [about: string, schema: unknown, named: boolean])[] = [
    ['an object', user, true],
    ['a reference to nothing, yet', { $ref: 'late#' }, true],
    ['a part', { allOf: [{ $ref: 'user#' }, { required: ['name'] }] }, true],
    ['a case', { if: false, else: user }, true],
    ['items', array(array(user)), true],
    ['items of a list by reference', list({ $ref: 'user#' }), true],
    ['itself', array({ $ref: '#' }), false],
    ['a text by reference', { $ref: 'text#' }, false],
    ['items that are texts', list(text), false],
    ['an object without members', { type: 'object' }, false],
    ['a map', { type: 'object', additionalProperties: user }, false],
    ['a tuple', { type: 'array', items: [user] }, false],
    ['no schema', true, false],
  ]
  for (const [about, schema, named] of rows) {
    t.equal(names({ 200: schema }, ['users']), named, about)
    t.equal(names({ '2XX': schema }, ['users']), named, `${about}, by its class`)
    t.equal(names({ 404: user, 200: schema }, ['users']), named, `${about}, beside errors`)
  }
  t.equal(names({ 200: list(text) }), true, 'an array that is no list is a field')
  for (const response of [undefined, null, {}, { 201: user }, { 404: user }, { '4xx': user }])
    t.equal(names(response), false, JSON.stringify(response))
})
