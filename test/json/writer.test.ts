/** A response schema decides the bytes as it does with Fastify's own serializer. */
import t from 'tap'
import type { Json } from '../../src/schema/json-schema.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'

const text = { type: 'string' }
const user = { type: 'object', required: ['name'], properties: { age: { type: 'integer' }, name: text } }

class User {
  readonly age = 7
  get name(): string {
    return 'from a getter'
  }
}

const written: readonly (readonly [about: string, schema: Json, value: unknown])[] = [
  ['required members first', user, { age: 1, name: 'Ada' }],
  ['members that the schema does not have', user, { name: 'Ada', password: 'secret' }],
  ['undefined members', user, { name: 'Ada', age: undefined }],
  ['a class with a getter', user, new User()],
  ['no prototype', user, Object.assign(Object.create(null), { name: 'Ada' })],
  ['toJSON of an object', user, { toJSON: () => ({ name: 'made' }) }],
  [
    'toJSON of a member',
    { type: 'object', properties: { user } },
    { user: { toJSON: () => ({ name: 'made' }) } },
  ],
  ['null for an object', user, null],
  ['null for a nullable object', { ...user, nullable: true }, null],
  ['null for an array', { type: 'array', items: text }, null],
  ['null for a string', text, null],
  ['null for an integer', { type: 'integer' }, null],
  ['null for a boolean', { type: 'boolean' }, null],
  ['nullable scalars', { type: 'object', properties: { a: { ...text, nullable: true } } }, { a: null }],
  ['what is true', { type: 'array', items: { type: 'boolean' } }, [true, 1, 'a', {}, false, 0, '', null]],
  [
    'defaults',
    { type: 'object', properties: { a: { ...text, default: 'x' }, b: { type: 'object', default: {} } } },
    {},
  ],
  [
    'a default that is not needed',
    { type: 'object', properties: { a: { ...text, default: 'x' } } },
    { a: 'y' },
  ],
  ['a default of null', { type: 'object', properties: { a: { ...text, default: null } } }, {}],
  [
    'a default behind a reference',
    {
      type: 'object',
      properties: { a: { $ref: '#/definitions/a' } },
      definitions: { a: { ...text, default: 'x' } },
    },
    {},
  ],
  ['no members', { type: 'object' }, { a: 1 }],
  ['any members', { type: 'object', additionalProperties: true }, { a: 1, b: { c: [null] }, d: undefined }],
  ['members of a kind', { type: 'object', additionalProperties: { type: 'integer' } }, { a: 1.5, b: '2' }],
  ['no others', { type: 'object', properties: { a: text }, additionalProperties: false }, { a: 'a', b: 1 }],
  [
    'patterns before the rest',
    {
      type: 'object',
      patternProperties: { '^a': text, '^ab': { type: 'integer' } },
      additionalProperties: { type: 'boolean' },
    },
    { a: 1, ab: 2, b: 3 },
  ],
  [
    'declared members before patterns',
    { type: 'object', properties: { b: text }, patternProperties: { '.': { type: 'integer' } } },
    { a: 1, b: 2 },
  ],
  [
    'functions and symbols',
    { type: 'object', additionalProperties: true },
    { f: () => 1, s: Symbol('s'), a: 1 },
  ],
  ['an empty array', { type: 'array', items: user }, []],
  ['an array of anything', { type: 'array' }, [1, 'a', null, { b: [] }]],
  ['a hole in an array', { type: 'array', items: text }, Object.assign(['a'], { 2: 'c' }).fill('b', 1, 2)],
  ['a tuple', { type: 'array', items: [text, { type: 'integer' }] }, ['a', 1]],
  ['a short tuple', { type: 'array', items: [text, { type: 'integer' }] }, ['a']],
  ['a tuple with more', { type: 'array', items: [text], additionalItems: true }, ['a', { b: 1 }, null]],
  ['constants', { type: 'object', properties: { a: { const: 'x"' } } }, { a: 'whatever' }],
  ['alternatives in their order', { anyOf: [{ type: 'integer' }, { type: 'number' }, text] }, 1.5],
  ['a Date among alternatives', { anyOf: [{ type: 'null' }, { ...text, format: 'date-time' }] }, new Date(0)],
  ['lists of types', { type: ['object', 'array', 'string'], properties: { a: text }, items: text }, ['a']],
  ['an unknown keyword', { type: 'string', 'x-mine': { type: 'object' } }, 'a'],
  [
    'a name that is not an identifier',
    { type: 'object', properties: { 'a-b c"\n': text, '': text } },
    { 'a-b c"\n': 'x', '': 'y' },
  ],
]

for (const [about, schema, value] of written) {
  t.test(`${about}: the bytes of fast-json-stringify`, async (t) => {
    t.equal(ourWriter(schema, { twins: false })(value), fastifyWriter(schema)(value))
    t.equal(
      ourWriter(schema, { twins: true })(value),
      fastifyWriter(schema)(value),
      'with twins, where none is needed',
    )
  })
}

t.test('a value that fast-json-stringify refuses is refused, without the value in the message', async (t) => {
  const refused: readonly (readonly [schema: Json, value: unknown, message: string])[] = [
    [user, { age: 1 }, '"name" is required!'],
    [{ type: 'object', properties: { user } }, { user: {} }, '"name" is required!'],
    [{ type: 'array', items: text }, 'secret', 'The value does not match an array'],
    [{ type: 'array', items: text }, { length: 1 }, 'The value does not match an array'],
    [
      { type: 'array', items: [text] },
      ['a', 'secret'],
      'a value of type object cannot be written by the schema {"type":"array","items":[{"type":"string"}]}',
    ],
    [
      { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      'secret',
      'The value does not match any of its schemas',
    ],
    [{ type: ['integer', 'boolean'] }, 'secret', 'The value does not match any of its schemas'],
    [
      { type: 'integer' },
      'secret',
      'a value of type string cannot be written by the schema {"type":"integer"}',
    ],
    [
      { type: 'string', format: 'date' },
      5,
      'a value of type number cannot be written by the schema {"type":"string","format":"date"}',
    ],
  ]
  for (const [schema, value, message] of refused) {
    t.throws(() => ourWriter(schema, { twins: true })(value), { message }, JSON.stringify(schema))
    t.throws(() => fastifyWriter(schema)(value), 'fast-json-stringify refuses it too')
  }
})

t.test('alternatives ignore toJSON of objects, as in fast-json-stringify', async (t) => {
  const schema = { anyOf: [{ type: 'null' }, user] }
  const made = { toJSON: () => ({ name: 'made' }) }
  t.throws(() => fastifyWriter(schema)(made))
  t.throws(() => ourWriter(schema, { twins: true })(made))
})

t.test('properties of Object.prototype are not written, whatever names the schema has', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  const schema = JSON.parse(
    `{"type":"object","properties":{${names.map((name) => `"${name}":{"type":"string"}`).join(',')}}}`,
  )
  const own = `{${names.map((name) => `"${name}":"own"`).join(',')}}`
  t.equal(ourWriter(schema, { twins: true })({}), '{}')
  t.equal(ourWriter(schema, { twins: true })(JSON.parse(own)), own)
})

t.test('long arrays and deep values are written completely', async (t) => {
  const items = Array.from({ length: 20_001 }, (_, index) => ({ name: `${index}` }))
  const list = { type: 'array', items: user }
  t.equal(ourWriter(list, { twins: true })(items), fastifyWriter(list)(items))

  const node = { type: 'object', properties: { next: { $ref: '#' } } }
  let deep = {}
  for (let level = 0; level < 1000; level++) deep = { next: deep }
  t.equal(ourWriter(node, { twins: true })(deep), fastifyWriter(node)(deep))
})
