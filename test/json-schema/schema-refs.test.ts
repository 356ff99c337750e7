/** `$ref` and `allOf` as Fastify's own serializer reads them. */
import t from 'tap'
import { type Json, mergeSchemas, schemaResolver } from '../../src/json-schema/schema-refs.js'

const city = { type: 'string' }
const address = { $id: '#address', type: 'object', properties: { city } }
const user = {
  $id: 'user',
  type: 'object',
  properties: { 'a/b~c d': { type: 'integer' }, list: { type: 'array', items: [{ type: 'null' }] } },
  definitions: { address },
}

t.test(
  'a reference leads into the document or into a shared one; what it leads to brings its own root',
  async (t) => {
    const resolve = schemaResolver({ user })
    const root = { definitions: { city }, $defs: { city }, properties: { user } }
    const rows: readonly (readonly [ref: string, schema: Json, root: Json])[] = [
      ['#', root, root],
      ['#/definitions/city', city, root],
      ['#/$defs/city', city, root],
      ['user', user, user],
      ['user#', user, user],
      ['user#/definitions/address/properties/city', city, user],
      ['user#/properties/a~1b~0c%20d', { type: 'integer' }, user],
      ['user#/properties/list/items/0', { type: 'null' }, user],
      ['user#address', address, user],
      ['#address', address, root],
    ]
    for (const [ref, schema, document] of rows) {
      const located = resolve(ref, root)
      t.strictSame(located.schema, schema, ref)
      t.equal(located.root, document, `${ref}: the root`)
    }
  },
)

t.test('a reference to nothing is refused by its name', async (t) => {
  const resolve = schemaResolver({ user })
  const refs = [
    'nobody#',
    '#/definitions/none',
    'user#/properties/none',
    'user#none',
    '#/constructor',
    '#/__proto__',
  ]
  for (const ref of refs) {
    const refused = { name: 'TypeError', message: `the schema refers to nothing: ${ref}` }
    t.throws(() => resolve(ref, { definitions: {} }), refused, ref)
  }
})

t.test('allOf says what all of them say', async (t) => {
  const rows: readonly (readonly [schemas: Json[], merged: Json])[] = [
    [[], {}],
    [[true, { type: 'object' }], { type: 'object' }],
    [
      [
        { type: 'object', properties: { a: city }, required: ['a'] },
        { type: 'object', properties: { b: city }, required: ['a', 'b'] },
      ],
      { type: 'object', properties: { a: city, b: city }, required: ['a', 'b'] },
    ],
    [
      [{ properties: { a: city } }, { properties: { a: { nullable: true } } }],
      { properties: { a: { allOf: [city, { nullable: true }] } } },
    ],
    [[{ additionalProperties: false }, { additionalProperties: true }], { additionalProperties: false }],
    [[{ additionalProperties: true }, { additionalProperties: false }], { additionalProperties: false }],
    [[{ nullable: true }, { nullable: true }], { nullable: true }],
    [[{ nullable: true }, { nullable: false }], { nullable: false }],
    [
      [{ allOf: [{ type: 'object' }] }, { allOf: [{ nullable: true }] }],
      { allOf: [{ type: 'object' }, { nullable: true }] },
    ],
    [[{ definitions: { a: city } }, { definitions: { b: city } }], { definitions: { a: city, b: city } }],
    [
      [{ patternProperties: { '^a': city } }, { patternProperties: { '^b': city } }],
      { patternProperties: { '^a': city, '^b': city } },
    ],
  ]
  for (const [schemas, merged] of rows) t.strictSame(mergeSchemas(schemas), merged, JSON.stringify(schemas))
})

t.test('what contradicts itself is refused', async (t) => {
  t.throws(() => mergeSchemas([{ type: 'string' }, { type: 'object' }]), {
    name: 'TypeError',
    message: 'schemas to be merged differ in type: string, object',
  })
})

t.test('the schemas themselves stay as they are', async (t) => {
  const first = Object.freeze({ properties: Object.freeze({ a: city }), required: Object.freeze(['a']) })
  const second = Object.freeze({ properties: Object.freeze({ b: city }), required: Object.freeze(['b']) })
  t.strictSame(mergeSchemas([first, second]), { properties: { a: city, b: city }, required: ['a', 'b'] })
})
