/** The `fields` parameter as OpenAPI shows it. */
import t from 'tap'
import { documentFields } from '../../../src/plugins/fields/openapi.js'
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
  for (const [users, isList] of [
    [array(text), true],
    [{ type: ['array', 'null'] }, true],
    [text, false],
    [object({}), false],
  ] as const) {
    const body = answer(object({ users }, { required: ['users'] }) as never)
    const shown = JSON.stringify(documented({ responses: { 200: body } }).responses)
    t.equal(shown.includes('required'), isList, `a list stays: ${JSON.stringify(users)}`)
  }
  const single = documented({ responses: { 200: answer({ $ref } as never) } }, undefined, { item })
  t.strictSame(single.responses?.[200], answer(optional as never))
})
