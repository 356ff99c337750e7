/** Query schemas are completed; what a route declares itself stays, and so does what cannot be completed. */
import t from 'tap'
import { isObjectSchema, withQueryParameters } from '../../../src/representation/schema/query-schema.js'

const parameters = { fields: { type: 'string' } }

t.test('the parameters are added to what the route declares', async (t) => {
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

t.test('a reference and another validator’s schema are left as they are', async (t) => {
  class Other {
    readonly properties = {}
  }
  for (const querystring of [{ $ref: 'query#' }, new Other(), () => true]) {
    const completed = withQueryParameters({ querystring }, parameters)
    t.equal(completed.querystring, querystring)
  }
})

t.test('the schema of the route is not changed', async (t) => {
  const schema = Object.freeze({ querystring: Object.freeze({ properties: Object.freeze({}) }) })
  t.strictSame(withQueryParameters(schema, parameters), { querystring: { properties: parameters } })
})

t.test('what counts as a plain schema', async (t) => {
  for (const schema of [{}, { type: 'object' }, Object.create(null)]) t.equal(isObjectSchema(schema), true)
  for (const other of [null, undefined, true, 'a', { $ref: 'a#' }, new (class {})(), []]) {
    t.equal(isObjectSchema(other), false)
  }
})
