/** Query schemas are completed; what a route declares itself stays, and so does what cannot be completed. */
import t from 'tap'
import { isObjectSchema, withQueryParameters } from '../../src/json-schema/query-schema.js'

const parameters = { fields: { type: 'string' } }

t.test('the parameters are added to those of the route', async (t) => {
  const limit = { type: 'integer' }
  const rows: readonly (readonly [schema: object | undefined, completed: object])[] = [
    [undefined, { querystring: { type: 'object', properties: parameters } }],
    [{}, { querystring: { type: 'object', properties: parameters } }],
    [{ tags: ['a'] }, { tags: ['a'], querystring: { type: 'object', properties: parameters } }],
    [
      {
        querystring: {
          type: 'object',
          properties: { limit },
          additionalProperties: false,
          required: ['limit'],
        },
      },
      {
        querystring: {
          type: 'object',
          properties: { ...parameters, limit },
          additionalProperties: false,
          required: ['limit'],
        },
      },
    ],
    [{ query: { properties: { limit } } }, { querystring: { properties: { ...parameters, limit } } }],
    [{ querystring: { properties: { fields: limit } } }, { querystring: { properties: { fields: limit } } }],
  ]
  for (const [schema, completed] of rows) t.strictSame(withQueryParameters(schema, parameters), completed)
})

t.test('a reference and a schema of another validator are not changed', async (t) => {
  class Other {
    readonly properties = {}
  }
  for (const querystring of [{ $ref: 'query#' }, new Other(), () => true]) {
    const completed = withQueryParameters({ querystring }, parameters)
    t.equal(completed.querystring, querystring)
  }
})

t.test('a reference is written out, with the references within its document', async (t) => {
  const limit = { type: 'integer', default: 5 }
  const tag = { $ref: '#/definitions/tag' }
  const definitions = { tag: { type: 'string' } }
  const query = {
    $id: 'query',
    type: 'object',
    properties: { limit, tag },
    definitions,
    additionalProperties: false,
  }
  const shared = Object.freeze({
    query,
    parts: { $id: 'parts', definitions: { query, ...definitions } },
    alias: { $id: 'alias', $ref: 'query#' },
  })
  const before = JSON.stringify(shared)
  const written = {
    type: 'object',
    properties: { ...parameters, limit, tag: definitions.tag },
    definitions,
    additionalProperties: false,
  }
  for (const key of ['querystring', 'query']) {
    t.strictSame(
      withQueryParameters({ [key]: { $ref: 'query#' } }, parameters, () => shared),
      { querystring: written },
    )
  }
  t.strictSame(
    withQueryParameters({ querystring: { $ref: 'alias#' } }, parameters, () => shared),
    { querystring: written },
    'a reference to a reference',
  )
  const inParts = withQueryParameters(
    { querystring: { $ref: 'parts#/definitions/query' } },
    parameters,
    () => shared,
  )
  t.strictSame(inParts, { querystring: written }, 'its own id counts')
  const again = withQueryParameters(
    { querystring: { $ref: 'parts#/definitions/query' } },
    parameters,
    () => shared,
  )
  t.equal(again.querystring, inParts.querystring, 'once for all who refer to it')
  t.equal(JSON.stringify(shared), before, 'what is shared stays')
  for (const $ref of ['nobody#', '#', '#/definitions/tag']) {
    const querystring = { $ref }
    t.equal(withQueryParameters({ querystring }, parameters, () => shared).querystring, querystring, $ref)
  }
})

t.test('a schema that is written out has no $id, which must be unique', async (t) => {
  const shared = { query: { $id: 'query', properties: { tag: { $id: 'tag', type: 'string' } } } }
  const { querystring } = withQueryParameters({ querystring: { $ref: 'query#' } }, parameters, () => shared)
  t.strictSame(querystring, { properties: { ...parameters, tag: { type: 'string' } } })
})

t.test('the schema of the route is not changed', async (t) => {
  const schema = Object.freeze({ querystring: Object.freeze({ properties: Object.freeze({}) }) })
  t.strictSame(withQueryParameters(schema, parameters), { querystring: { properties: parameters } })
})

t.test('the schemas that count as plain ones', async (t) => {
  for (const schema of [{}, { type: 'object' }, Object.create(null)]) t.equal(isObjectSchema(schema), true)
  for (const other of [null, undefined, true, 'a', { $ref: 'a#' }, new (class {})(), []]) {
    t.equal(isObjectSchema(other), false)
  }
})
