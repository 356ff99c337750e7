/** A projection can only narrow what the schema allows. */
import t from 'tap'
import { fieldsOf, type Selection } from '../../src/json/selection.js'
import { writerCompiler } from '../../src/json/writer.js'
import type { Json } from '../../src/schema/json-schema.js'
import type { Shape } from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { compileSerializer } from '../schema/compiled.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const big = 9_007_199_254_740_993n
const object = (properties: Json, more: object = {}) => ({ type: 'object', properties, ...more })
const properties = {
  name: text,
  id,
  age: { type: 'integer', default: 18 },
  address: object({ zip: id, city: text }),
  tags: { type: 'array', items: object({ key: text, value: text }) },
  friend_ids: { type: 'array', items: id },
  owner: { anyOf: [{ type: 'null' }, object({ id, name: text })] },
}
const user = object(properties, { required: ['id', 'name'] })
const ada = Object.freeze({
  id: big,
  name: 'Ada',
  address: Object.freeze({ city: 'London', zip: 5, street: 'not in the schema' }),
  tags: Object.freeze([Object.freeze({ key: 'a', value: 'b' }), Object.freeze({ value: 'c' })]),
  friend_ids: [1, big],
  owner: Object.freeze({ id: 7, name: 'Eve' }),
  password: 'not in the schema',
})

const context = { compile: compileSerializer }

t.test('only selected members are written, in the order of the schema; also of null', async (t) => {
  const rows: readonly (readonly [paths: string[], json: string, value?: unknown])[] = [
    [['id', 'name'], '{"name":"Ada","id":9007199254740993,"id_str":"9007199254740993"}'],
    [['id_str'], '{"id":9007199254740993,"id_str":"9007199254740993"}'],
    [['age'], '{"age":18}'],
    [['address'], '{"address":{"zip":5,"zip_str":"5","city":"London"}}'],
    [['address.city', 'address.zip'], '{"address":{"zip":5,"zip_str":"5","city":"London"}}'],
    [['address.zip_str'], '{"address":{"zip":5,"zip_str":"5"}}'],
    [['tags.key'], '{"tags":[{"key":"a"},{}]}'],
    [['friend_ids_str'], '{"friend_ids":[1,9007199254740993],"friend_ids_str":["1","9007199254740993"]}'],
    [['owner.name'], '{"owner":{"name":"Eve"}}'],
    [['owner.id_str'], '{"owner":{"id":7,"id_str":"7"}}'],
    [['password'], '{}'],
    [['address.street'], '{"address":{}}'],
    [[], '{}'],
    [['address.city'], '{}', {}],
    [['address.city'], '{"address":{}}', { address: null }],
    [['tags.key'], '{"tags":[{}]}', { tags: [null] }],
    [['owner.name'], '{"owner":null}', { owner: null }],
    [['age'], '{"age":18}', { age: undefined }],
    [['name'], '{}', null],
  ]
  for (const [paths, json, ...values] of rows)
    t.equal(projected(user, paths, values.length > 0 ? values[0] : ada), json, paths.join())
})

t.test('a missing required member throws only if it is selected', async (t) => {
  t.equal(projected(user, ['age'], {}), '{"age":18}')
  t.throws(() => projected(user, ['name'], {}), { message: '"name" is required!' })
  t.throws(() => projected(user, ['id'], { id: 2 ** 53 }), { message: /digits are lost/ })
  t.equal(projected(user, ['age'], { id: 2 ** 53 }), '{"age":18}')
})

t.test('members that are not selected are not read', async (t) => {
  const value = {
    name: 'Ada',
    get address(): never {
      throw new Error('read')
    },
  }
  t.equal(projected(user, ['name'], value), '{"name":"Ada"}')
  t.throws(() => projected(user, ['address.city'], value), { message: 'read' })
})

t.test('the selection applies to nested items of a list; members beside them stay', async (t) => {
  const users = { type: 'array', items: user }
  const page = object({ a: object({ name: text, age: text }) })
  const list = object({ data: object({ users, total: id }), next: text, page })
  const shape = shapeOf(list, {}, context)
  const write = selected(shape, { ...only(['name']), within: ['data', 'users'] })
  const value = { data: { users: [ada, ada], total: big }, next: 'n' }
  const data =
    '"users":[{"name":"Ada"},{"name":"Ada"}],"total":9007199254740993,"total_str":"9007199254740993"'
  const beside = { a: { name: 'n', age: '1' } }
  const shown = `"next":"n","page":${JSON.stringify(beside)}`
  t.equal(write({ ...value, page: beside }), `{"data":{${data}},${shown}}`)
  t.equal(write({ data: { users: [] } }), '{"data":{"users":[]}}')
  const writeAny = selected(shapeOf({}), { ...only(['a']), within: ['data', 'items'] })
  const any = { page: { b: 1 }, data: { items: [{ a: 1, b: 2 }], total: 2 } }
  t.equal(writeAny(any), '{"page":{"b":1},"data":{"items":[{"a":1}],"total":2}}')
  t.equal(writeAny({ page: 1 }), '{"page":1}')
  t.equal(writeAny('text'), '"text"')
  t.equal(writeAny([any]), JSON.stringify([any]), 'items are not looked for in a list')
})

t.test('declared members may be getters of a class; undeclared ones have to be own properties', async (t) => {
  class Named {
    readonly own = 'own'
    get name(): string {
      return 'from a getter'
    }
    save(): void {}
  }
  const named = Object.defineProperty(new Named(), 'concealed', { value: 'x', enumerable: false })
  t.equal(projected(user, ['name'], new Named()), '{"name":"from a getter"}')
  const names = ['own', 'name', 'save', 'concealed', 'constructor', '__proto__']
  const inherited = names.map((name) => `any.${name}`)
  t.equal(projected(object({}, { additionalProperties: true }), names, named), '{"own":"own"}')
  const exact = '{"any":{"x":{"y":9007199254740993,"y_str":"9007199254740993"}}}'
  const made = { toJSON: () => ({ x: 1, y: 2, at: new Date(0) }) }
  const proto = JSON.parse('{"__proto__":{"x":1},"constructor":2}')
  const rows: readonly (readonly [paths: string[], any: unknown, json: string])[] = [
    [inherited, named, '{"any":{"own":"own"}}'],
    [['any.x'], [{ x: 1, y: 2 }, 'a', null], '{"any":[{"x":1},"a",null]}'],
    [['any.x.y'], { x: { y: big, z: 1 } }, exact],
    [['any.x', 'any.at'], made, '{"any":{"x":1,"at":"1970-01-01T00:00:00.000Z"}}'],
    [['any.a.y', 'any.z'], { z: 1, a: { b: 2, y: 1 }, n: big }, '{"any":{"z":1,"a":{"y":1}}}'],
    [['any.n'], { n: big, n_str: 'own' }, `{"any":{"n":${big},"n_str":"${big}"}}`],
    [['any.n_str'], { n: big, n_str: 'own' }, '{"any":{"n_str":"own"}}'],
    [['any.__proto__.x'], proto, '{"any":{"__proto__":{"x":1}}}'],
  ]
  for (const [paths, any, json] of rows) t.equal(projected(object({ any: {} }), paths, { any }), json)
})

t.test('only hidden members are left out; alternatives are chosen as without hiding', async (t) => {
  const open = object({ name: text, n: { type: 'integer' } }, { additionalProperties: true })
  const listOf = (items: Json) => ({ type: 'array', items })
  const kinds = ['a', 'b'].map((name) => object({ kind: { const: name }, secret: text, [name]: text }))
  const ofB = '{"o":{"kind":"b","b":"b"}}'
  const beside = object({ pair: listOf([object({ name: text }), text]), name: text })
  const ofAda = '{"name":"Ada","age":18,"address":{"city":"London"},"owner":{"name":"Eve"}}'
  const exact = '{"z":1,"a":9007199254740993,"a_str":"9007199254740993"}'
  const rows: readonly (readonly [schema: object, hidden: string[], value: unknown, json: string])[] = [
    [user, ['id', 'address.zip', 'tags', 'friend_ids', 'owner.id'], ada, ofAda],
    [open, ['name'], { z: 1, name: 'Ada', a: big }, exact],
    [open, ['z'], { z: 1, name: 'Ada', a: 2 }, '{"name":"Ada","a":2}'],
    [open, ['n'], { n: big, n_str: `${big}`, a: 2 }, '{"a":2}'],
    [{ anyOf: [open, { type: 'array', items: open }] }, ['name'], [{ name: 'Ada', z: 1 }], '[{"z":1}]'],
    [object({ o: open }), ['o.name'], { o: { name: 'Ada' } }, '{"o":{}}'],
    [{}, ['a.b', 'list', 'n'], { z: 1, a: { y: 1, b: 2 }, list: [], n: big }, '{"z":1,"a":{"y":1}}'],
    [object({ o: { anyOf: kinds } }), ['o.secret'], { o: { kind: 'b', secret: 's', b: 'b' } }, ofB],
    [object({ o: listOf(listOf(open)) }), ['o.name'], { o: [[{ name: 'n' }], []] }, '{"o":[[{}],[]]}'],
    [beside, ['name'], { pair: [{ name: 'n' }], name: 'n' }, '{"pair":[{"name":"n"}]}'],
    [object({ o: { ...open, nullable: true } }), ['o.name'], { o: null }, '{"o":null}'],
    [{}, ['constructor'], JSON.parse('{"__proto__":{"x":1},"constructor":2}'), '{"__proto__":{"x":1}}'],
  ]
  for (const [schema, hidden, value, json] of rows) {
    const cut = { only: null, without: fieldsOf(hidden) }
    const write = selected(shapeOf(schema as Json, {}, context), cut)
    t.equal(write(value), json, hidden.join())
  }
})

t.test('the selection applies to a default too', async (t) => {
  const otherwise = object({ a: text, b: text }, { default: { a: 'a', b: 'b' } })
  const schema = object({ first: { type: 'boolean' }, o: otherwise })

  t.equal(projected(schema, ['o.a', 'first'], { first: true }), '{"first":true,"o":{"a":"a"}}')
  t.equal(projected(schema, ['o.a'], { o: { a: 'given', b: 'b' } }), '{"o":{"a":"given"}}')
})

t.test('an undeclared number has its own twin, where the member of that name is not selected', async (t) => {
  const open = object({}, { additionalProperties: true })
  const [twin, own] = [`"n":${big},"n_str":"${big}"`, `"n":${big},"n_str":"own"`]
  const given = { n: big, n_str: 'own' }
  const small = { n: 5, n_str: 'five' }
  const declared = object({ n: id }, { additionalProperties: true })
  const pattern = object({}, { patternProperties: { '^n': {} } })
  const rows: readonly (readonly [schema: Json, paths: string[], value: object, json: string])[] = [
    [open, ['n'], given, `{${twin}}`],
    [open, ['n_str', 'n'], given, `{${own}}`],
    [open, ['n'], small, '{"n":5}'],
    [open, ['n_str'], small, '{"n_str":"five"}'],
    [declared, ['n_str'], given, `{${twin}}`],
    [declared, ['n', 'n_str'], given, `{${twin}}`],
    [pattern, ['n_str', 'n'], given, `{${own}}`],
    [object({ any: {} }), ['any.n', 'any.n_str'], { any: given }, `{"any":{${own}}}`],
    [open, ['a.b'], { a: [big, { b: 1, c: 2 }] }, `{"a":[${big},{"b":1}]}`],
  ]
  for (const [schema, paths, value, json] of rows)
    t.equal(projected(schema, paths, value), json, paths.join())
})

t.test('an integer instead of an object has its twin; an array may have itself as its items', async (t) => {
  const schema = object({ v: { anyOf: [id, object({ a: text, b: text })] } })
  t.equal(projected(schema, ['v.a'], { v: big }), '{"v":9007199254740993,"v_str":"9007199254740993"}')
  t.equal(projected(schema, ['v.a'], { v: { a: 'a', b: 'b' } }), '{"v":{"a":"a"}}')
  const list = { anyOf: [{ type: 'array', items: { $ref: '#' } }, object({ a: text, b: text })] }
  t.equal(projected(list, ['a'], [{ a: 'a', b: 'b' }, [[{ a: 'c' }]]]), '[{"a":"a"},[[{"a":"c"}]]]')
})

t.test('names from a client are not matched against patterns, and select no undeclared member', async (t) => {
  const shape = shapeOf(object({}, { patternProperties: { '^(\\w+\\s?)*$': text, '^p_': text } }))
  const hostile = `${'a'.repeat(40)}!`
  t.equal(selected(shape, only([hostile, 'p_a']))({ p_a: 'x', other: 'y' }), '{"p_a":"x"}')
  const strict = { type: 'object', patternProperties: { '^p_': text } }
  t.equal(projected(strict, ['p_a', 'q_a'], { p_a: 'x', q_a: 'secret' }), '{"p_a":"x"}')
})

function projected(schema: Parameters<typeof shapeOf>[0], paths: readonly string[], value: unknown): string {
  return selected(shapeOf(schema, {}, context), only(paths))(value)
}

function selected(shape: Shape, selection: Selection): (value: unknown) => string {
  const write = writerCompiler(true, compileSerializer).writerOf(shape)
  return (value) => write(value, selection)
}

function only(paths: readonly string[]): Selection {
  return { only: fieldsOf(paths), without: null }
}
