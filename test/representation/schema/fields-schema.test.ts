/** The `fields` parameter as OpenAPI shows it. */
import t from 'tap'
import { withFieldsParameter } from '../../../src/representation/schema/fields-schema.js'

t.test(
  'a string, or a list of them where it is given more than once; the description tells the default',
  async (t) => {
    const text = { type: 'string' }
    const description =
      'Names of the fields to answer, separated by commas; dots lead into objects, * is all.'
    const rows: readonly (readonly [defaults: readonly string[] | null, otherwise: string])[] = [
      [null, 'all'],
      [['id'], 'id'],
      [['id', 'address.city'], 'id, address.city'],
    ]
    for (const [defaults, otherwise] of rows) {
      t.strictSame(withFieldsParameter(undefined, defaults), {
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
  },
)

t.test('a route that declares the parameter itself keeps its own', async (t) => {
  const querystring = { type: 'object', properties: { fields: { type: 'string', enum: ['id'] } } }
  t.strictSame(withFieldsParameter({ querystring }, null), { querystring })
})
