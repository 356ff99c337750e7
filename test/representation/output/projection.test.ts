/** Decisions.md §3 "fields": a projection can only narrow what the schema allows. */
import t from 'tap'
import { type FieldTree, fieldPaths, fieldTree } from '../../../src/representation/output/field-tree.js'
import {
  allBut,
  canonicalFields,
  fieldNames,
  projectionWriter,
  shapeWithin,
  unknownFields,
} from '../../../src/representation/output/projection.js'
import { type Shape, shapeOf } from '../../../src/representation/output/schema-shape.js'
import { WriterCompiler } from '../../../src/representation/output/writer.js'
import { refuseLost } from '../compiled.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const big = 9_007_199_254_740_993n
const user = {
  type: 'object',
  required: ['id', 'name'],
  properties: {
    name: text,
    id,
    age: { type: 'integer', default: 18 },
    address: { type: 'object', properties: { zip: id, city: text } },
    tags: { type: 'array', items: { type: 'object', properties: { key: text, value: text } } },
    friend_ids: { type: 'array', items: id },
    owner: { anyOf: [{ type: 'null' }, { type: 'object', properties: { id, name: text } }] },
  },
}
const ada = Object.freeze({
  id: big,
  name: 'Ada',
  address: Object.freeze({ city: 'London', zip: 5, street: 'not in the schema' }),
  tags: Object.freeze([Object.freeze({ key: 'a', value: 'b' }), Object.freeze({ value: 'c' })]),
  friend_ids: [1, big],
  owner: Object.freeze({ id: 7, name: 'Eve' }),
  password: 'not in the schema',
})

t.test('what is selected is written in the order of the schema, and nothing else', async (t) => {
  const rows: readonly (readonly [paths: string[], json: string])[] = [
    [['name'], '{"name":"Ada"}'],
    [['name', 'id'], '{"name":"Ada","id":9007199254740993,"id_str":"9007199254740993"}'],
    [['id', 'name'], '{"name":"Ada","id":9007199254740993,"id_str":"9007199254740993"}'],
    [['id_str'], '{"id":9007199254740993,"id_str":"9007199254740993"}'],
    [['age'], '{"age":18}'],
    [['address'], '{"address":{"zip":5,"zip_str":"5","city":"London"}}'],
    [['address.city'], '{"address":{"city":"London"}}'],
    [['address.city', 'address.zip'], '{"address":{"zip":5,"zip_str":"5","city":"London"}}'],
    [['address.zip_str'], '{"address":{"zip":5,"zip_str":"5"}}'],
    [['tags.key'], '{"tags":[{"key":"a"},{}]}'],
    [['friend_ids'], '{"friend_ids":[1,9007199254740993],"friend_ids_str":["1","9007199254740993"]}'],
    [['friend_ids_str'], '{"friend_ids":[1,9007199254740993],"friend_ids_str":["1","9007199254740993"]}'],
    [['owner.name'], '{"owner":{"name":"Eve"}}'],
    [['owner.id_str'], '{"owner":{"id":7,"id_str":"7"}}'],
    [['password'], '{}'],
    [['address.street'], '{"address":{}}'],
    [[], '{}'],
  ]
  for (const [paths, json] of rows) t.equal(projected(user, paths, ada), json, paths.join())
})

t.test('values that are not there, or null', async (t) => {
  const rows: readonly (readonly [paths: string[], value: unknown, json: string])[] = [
    [['address.city'], {}, '{}'],
    [['address.city'], { address: null }, '{"address":{}}'],
    [['address.city'], { address: {} }, '{"address":{}}'],
    [['tags.key'], { tags: [] }, '{"tags":[]}'],
    [['tags.key'], { tags: [null] }, '{"tags":[{}]}'],
    [['owner.name'], { owner: null }, '{"owner":null}'],
    [['age'], { age: undefined }, '{"age":18}'],
    [['name'], null, '{}'],
  ]
  for (const [paths, value, json] of rows) t.equal(projected(user, paths, value), json, paths.join())
})

t.test('what is required has to be there where it is selected, and only there', async (t) => {
  t.equal(projected(user, ['age'], {}), '{"age":18}')
  t.throws(() => projected(user, ['name'], {}), { message: '"name" is required!' })
  t.throws(() => projected(user, ['id'], { id: 2 ** 53 }), { message: 'lost digits' })
  t.equal(projected(user, ['age'], { id: 2 ** 53 }), '{"age":18}')
})

t.test('what is not selected is not even read', async (t) => {
  const value = {
    name: 'Ada',
    get address(): never {
      throw new Error('read')
    },
  }
  t.equal(projected(user, ['name'], value), '{"name":"Ada"}')
  t.throws(() => projected(user, ['address.city'], value), { message: 'read' })
})

t.test('the items of a list, nested as deep as they are; what stands beside them stays', async (t) => {
  const list = {
    type: 'object',
    properties: {
      data: { type: 'object', properties: { users: { type: 'array', items: user }, total: id } },
      next: text,
    },
  }
  const shape = shapeOf(list)
  const write = projectionWriter(new WriterCompiler(true), shape, fieldTree(['name']), ['data', 'users'])
  const value = { data: { users: [ada, ada], total: big }, next: 'n' }
  t.equal(
    write(value, refuseLost),
    '{"data":{"users":[{"name":"Ada"},{"name":"Ada"}],"total":9007199254740993,"total_str":"9007199254740993"},"next":"n"}',
  )
  t.equal(write({ data: { users: [] } }, refuseLost), '{"data":{"users":[]}}')
})

t.test('of classes what the schema declares, getters too; elsewhere own properties only', async (t) => {
  class Named {
    readonly own = 'own'
    get name(): string {
      return 'from a getter'
    }
  }
  t.equal(projected(user, ['name'], new Named()), '{"name":"from a getter"}')
  const open = { type: 'object', properties: { any: {} } }
  t.equal(
    projected(open, ['any.own', 'any.name', 'any.constructor', 'any.__proto__'], { any: new Named() }),
    '{"any":{"own":"own"}}',
  )
  t.equal(projected(open, ['any.x'], { any: [{ x: 1, y: 2 }, 'a', null] }), '{"any":[{"x":1},"a",null]}')
  t.equal(
    projected(open, ['any.x.y'], { any: { x: { y: big, z: 1 } } }),
    '{"any":{"x":{"y":9007199254740993,"y_str":"9007199254740993"}}}',
  )
  t.equal(projected(open, ['any.x'], { any: { toJSON: () => ({ x: 1, y: 2 }) } }), '{"any":{"x":1}}')
})

t.test('names of what every object inherits select nothing that is not declared and own', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  t.strictSame(unknownFields(shapeOf(user), fieldTree(names)), names)
  const declared = JSON.parse(
    `{"type":"object","properties":{${names.map((name) => `"${name}":{"type":"string"}`).join(',')}}}`,
  )
  t.strictSame(unknownFields(shapeOf(declared), fieldTree(names)), [])
  t.equal(projected(declared, names, {}), '{}')
  const own = `{${names.map((name) => `"${name}":"own"`).join(',')}}`
  t.equal(projected(declared, names, JSON.parse(own)), own)
  t.equal(projected(declared, ['__proto__'], JSON.parse(own)), '{"__proto__":"own"}')
})

t.test('the names of a shape; a twin goes by the name of its number', async (t) => {
  t.strictSame(fieldNames(shapeOf(user)), ['name', 'id', 'age', 'address', 'tags', 'friend_ids', 'owner'])
  t.strictSame(fieldNames(shapeOf({ type: 'array', items: user })).length, 7, 'of the items of an array')
  const either = {
    anyOf: [
      { type: 'object', properties: { a: text } },
      { type: 'object', properties: { b: text, a: id } },
    ],
  }
  t.strictSame(fieldNames(shapeOf(either)), ['a', 'b'], 'of all alternatives')
  t.strictSame(fieldNames(shapeOf({ type: 'object', properties: { id, id_str: text } })), ['id'])
  t.strictSame(fieldNames(shapeOf({})), [])
})

t.test('unknown paths, in the order of the selection', async (t) => {
  const rows: readonly (readonly [paths: string[], unknown: string[]])[] = [
    [['name', 'id', 'id_str', 'address.zip_str', 'owner.id', 'tags.key', 'friend_ids_str'], []],
    [
      ['nope', 'name', 'none'],
      ['nope', 'none'],
    ],
    [['address.nope', 'address.city'], ['address.nope']],
    [
      ['nope.a', 'nope.b'],
      ['nope.a', 'nope.b'],
    ],
    [
      ['name.length', 'friend_ids.0', 'tags.0', 'tags.length'],
      ['name.length', 'friend_ids.0', 'tags.0', 'tags.length'],
    ],
    [['owner.nope'], ['owner.nope']],
    [
      ['name_str', 'Name', 'name '],
      ['name_str', 'Name', 'name '],
    ],
  ]
  for (const [paths, unknown] of rows) t.strictSame(unknownFields(shapeOf(user), fieldTree(paths)), unknown)
  const open = shapeOf({ type: 'object', properties: { any: {} } })
  t.strictSame(unknownFields(open, fieldTree(['any.a.b'])), [], 'of what is not described nobody can say')
  const map = shapeOf({ type: 'object', properties: { a: text }, patternProperties: { '^p_': text } })
  t.strictSame(unknownFields(map, fieldTree(['p_a', 'q_a'])), [], 'names of clients meet no pattern')
})

t.test('twins go by the name of their number, wherever they are', async (t) => {
  const rows: readonly (readonly [paths: string[], canonical: string[]])[] = [
    [
      ['id_str', 'name'],
      ['id', 'name'],
    ],
    [['id_str', 'id'], ['id']],
    [
      ['address.zip_str', 'tags.key'],
      ['address.zip', 'tags.key'],
    ],
    [['friend_ids_str'], ['friend_ids']],
  ]
  for (const [paths, canonical] of rows) {
    t.strictSame(fieldPaths(canonicalFields(shapeOf(user), fieldTree(paths))), canonical, paths.join())
  }
})

t.test('all but some', async (t) => {
  const all = allBut(shapeOf(user), new Set(['id', 'address.zip', 'tags', 'owner.name', 'friend_ids']))
  t.strictSame(fieldPaths(all), ['name', 'age', 'address.city', 'owner.id'])
  t.strictSame(fieldPaths(allBut(shapeOf(user), new Set())), fieldNames(shapeOf(user)))
})

t.test('the shape that members lead to', async (t) => {
  const shape = shapeOf(user)
  t.equal(shapeWithin(shape, []), shape)
  t.match(shapeWithin(shape, ['tags']), { kind: 'array' })
  t.match(shapeWithin(shape, ['tags', 'key']), { kind: 'text' })
  t.match(shapeWithin(shape, ['owner', 'id']), { kind: 'integer' })
  for (const path of [['nope'], ['name', 'nope'], ['constructor']]) t.equal(shapeWithin(shape, path), null)
})

function projected(schema: Parameters<typeof shapeOf>[0], paths: readonly string[], value: unknown): string {
  const shape: Shape = shapeOf(schema)
  const tree: FieldTree = fieldTree(paths)
  return projectionWriter(new WriterCompiler(true), shape, tree)(value, refuseLost)
}

t.test(
  'a name that a client thinks up is matched against no pattern; what the pattern leaves out stays out',
  async (t) => {
    const shape = shapeOf({
      type: 'object',
      patternProperties: { '^(\\w+\\s?)*$': { type: 'string' }, '^p_': text },
    })
    const hostile = `${'a'.repeat(40)}!`
    t.strictSame(unknownFields(shape, fieldTree([hostile])), [])
    const write = projectionWriter(new WriterCompiler(true), shape, fieldTree([hostile, 'p_a']))
    t.equal(
      write({ p_a: 'x', other: 'y' }, () => {}),
      '{"p_a":"x"}',
    )

    const strict = shapeOf({ type: 'object', patternProperties: { '^p_': text } })
    const writeStrict = projectionWriter(new WriterCompiler(true), strict, fieldTree(['p_a', 'q_a']))
    t.equal(
      writeStrict({ p_a: 'x', q_a: 'secret' }, () => {}),
      '{"p_a":"x"}',
    )
  },
)
