/** The `fields` parameter as OpenAPI shows it. */
import t from 'tap'
import { namesFields, withFieldsParameter, withSelectedFields } from '../../../src/plugins/fields/openapi.js'

t.test('a string, or a list if it is repeated; the description has the default', async (t) => {
  const text = { type: 'string' }
  const description =
    'Names of the fields to answer, separated by commas; dots lead into objects, * is all. ' +
    'At most 64 names, 1024 characters, and 4 names with dots between them.'
  const rows: readonly (readonly [defaults: readonly string[] | undefined, otherwise: string])[] = [
    [undefined, 'all'],
    [['id'], 'id'],
    [['id', 'address.city'], 'id, address.city'],
  ]
  for (const [defaults, otherwise] of rows) {
    const options = { mode: 'enforce' as const, ...(defaults && { default: defaults }) }
    t.strictSame(withFieldsParameter(undefined, options), {
      querystring: {
        type: 'object',
        properties: {
          fields: {
            anyOf: [text, { type: 'array', items: text }],
            description: `${description} Default: ${otherwise}`,
          },
        },
      },
    })
  }
})

t.test('the parameter of a route itself is not changed', async (t) => {
  const querystring = { type: 'object', properties: { fields: { type: 'string', enum: ['id'] } } }
  t.strictSame(withFieldsParameter({ querystring }, { mode: 'enforce' }), { querystring })
})

const text = { type: 'string' }
const user = { type: 'object', properties: { name: text } }
const shared = { user: { $id: 'user', ...user }, text: { $id: 'text', ...text } }
const list = (items: object): object => ({ type: 'object', properties: { users: { type: 'array', items } } })

t.test('nothing is required of what fields are selected from, and the rest stays required', async (t) => {
  const item = {
    $id: 'item',
    type: 'object',
    required: ['name'],
    properties: { name: text, of: { $ref: '#' } },
  }
  const page = {
    type: 'object',
    required: ['users'],
    properties: { users: { type: 'array', items: { $ref: 'item#' } } },
  }
  const response = { 200: page, 201: { $ref: 'item#' }, 404: item }
  const selected = withSelectedFields({ response }, ['users'], () => ({ item })).response as typeof response
  t.strictSame(selected[200], {
    ...page,
    properties: { users: { type: 'array', items: { type: 'object', properties: { name: text, of: {} } } } },
  })
  t.equal(selected[201], response[201], 'only 200 is selected from')
  t.equal(selected[404], item)
  const described = { $ref: 'item#', description: 'One' }
  const single = withSelectedFields({ response: { 200: described } }, ['users'], () => ({ item }))
  t.match(single.response, { 200: { description: 'One', type: 'object', required: undefined } })
})

t.test('the parameter is added if the schema of 200 names fields', async (t) => {
  const rows: readonly (readonly [about: string, schema: unknown, names: boolean])[] = [
    ['an object', user, true],
    ['a reference', { $ref: 'user#' }, true],
    ['a reference to nothing, yet', { $ref: 'late#' }, true],
    ['a part', { allOf: [{ $ref: 'user#' }, { required: ['name'] }] }, true],
    ['an alternative', { anyOf: [{ type: 'null' }, user] }, true],
    ['a case', { if: false, else: user }, true],
    ['items', { type: 'array', items: { type: 'array', items: user } }, true],
    ['items of a list', list(user), true],
    ['items of a list by reference', list({ $ref: 'user#' }), true],
    ['itself', { type: 'array', items: { $ref: '#' } }, false],
    ['a text', text, false],
    ['a text by reference', { $ref: 'text#' }, false],
    ['items that are texts', list(text), false],
    ['an object without members', { type: 'object' }, false],
    ['a map', { type: 'object', additionalProperties: user }, false],
    ['a tuple', { type: 'array', items: [user] }, false],
    ['nothing', {}, false],
    ['no schema', true, false],
    ['null', null, false],
  ]
  for (const [about, schema, names] of rows) {
    t.equal(
      namesFields({ 200: schema }, ['users'], () => shared),
      names,
      about,
    )
    t.equal(
      namesFields({ '2XX': schema }, ['users'], () => shared),
      names,
      `${about}, by its class`,
    )
    t.equal(
      namesFields({ 404: user, 200: schema }, ['users'], () => shared),
      names,
      `${about}, beside errors`,
    )
  }
  t.equal(
    namesFields({ 200: list(text) }, [], () => shared),
    true,
    'an array that is no list is a field',
  )
  for (const response of [undefined, null, {}, { 201: user }, { 404: user }, { '4xx': user }]) {
    t.equal(
      namesFields(response, [], () => shared),
      false,
      JSON.stringify(response),
    )
  }
})

t.test('of several media types the JSON schema applies', async (t) => {
  const rows: readonly (readonly [mediaType: string, names: boolean])[] = [
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    ['*/*', true],
    ['text/csv', false],
    ['application/vnd.short+json', false],
  ]
  for (const [mediaType, names] of rows) {
    t.equal(
      namesFields({ 200: { content: { [mediaType]: { schema: user } } } }, [], () => shared),
      names,
      mediaType,
    )
  }
})
