/** "Projection reads own properties only", also where no schema describes a value. */
import t from 'tap'
import { fieldsOf, ownFields } from '../../src/json/selection.js'
import { numberName } from '../../src/schema/shape.js'

const big = 9_007_199_254_740_993n
const only = (...paths: string[]) => ({ only: fieldsOf(paths), without: null })
const without = (...paths: string[]) => ({ only: null, without: fieldsOf(paths) })

t.test('selected fields and hidden fields, in the order of the value', async (t) => {
  const value = { z: 1, a: { y: 1, b: 2 }, list: [{ y: 1 }, { b: 2 }, 'text', null], n: big, n_str: 'own' }
  const rows: readonly (readonly [cut: ReturnType<typeof only>, left: object])[] = [
    [only('a', 'z'), { z: 1, a: { y: 1, b: 2 } }],
    [only('a.b', 'a.y'), { a: { y: 1, b: 2 } }],
    [only('list.y'), { list: [{ y: 1 }, {}, 'text', null] }],
    [only('nope'), {}],
    [only('n'), { n: big }],
    [only('n_str'), { n_str: 'own' }],
  ]
  for (const [cut, left] of rows) t.equal(shown(ownFields(value, cut)), shown(left))
  const rest = { z: 1, list: value.list }
  t.equal(shown(ownFields(value, without('a', 'n'))), shown(rest))
  t.equal(shown(ownFields(value, without('a.b', 'list', 'n'))), shown({ z: 1, a: { y: 1 } }))
})

t.test('the value is not changed, and removed members are not read', async (t) => {
  const value = Object.freeze({
    a: Object.freeze({ b: 1 }),
    get costly(): never {
      throw new Error('read')
    },
  })
  t.strictSame(ownFields(value, only('a')), { a: { b: 1 } })
  t.strictSame(ownFields(value, without('costly')), { a: { b: 1 } })
})

t.test('only own properties are kept, whatever their names', async (t) => {
  const value = Object.assign(
    Object.create({ inherited: 1 }),
    JSON.parse('{"__proto__":{"x":1},"constructor":2}'),
  )
  t.equal(shown(ownFields(value, only('inherited', 'toString'))), '{}')
  const own = JSON.parse('{"__proto__":{"x":1},"constructor":2}')
  t.equal(shown(ownFields(own, only('__proto__.x'))), '{"__proto__":{"x":1}}')
  t.equal(shown(ownFields(own, without('constructor'))), '{"__proto__":{"x":1}}')
  t.notOk(({} as { x?: unknown }).x)
})

t.test('toJSON is called first', async (t) => {
  const value = { toJSON: () => ({ a: 1, b: { toJSON: () => ({ c: 1, d: 2 }) } }), a: 'not this one' }
  t.equal(shown(ownFields(value, only('a', 'b.c'))), '{"a":1,"b":{"c":1}}')
  t.equal(ownFields(new Date(0), without('a')), '1970-01-01T00:00:00.000Z')
})

t.test('the selection applies to the items of a list, and members beside them stay', async (t) => {
  const value = { page: 1, data: { items: [{ a: 1, b: 2 }], total: 2 } }
  t.equal(
    shown(ownFields(value, { ...only('a'), within: ['data', 'items'] })),
    '{"page":1,"data":{"items":[{"a":1}],"total":2}}',
  )
  t.equal(shown(ownFields({ page: 1 }, { ...only('a'), within: ['data'] })), '{"page":1}')
  t.equal(ownFields('text', { ...only('a'), within: ['data'] }), 'text')
})

t.test('numberName() returns the name of the integer of a twin', async (t) => {
  t.equal(numberName('id_str'), 'id')
  t.equal(numberName('id_str_str'), 'id_str')
  for (const name of ['id', 'str', 'id_st', '']) t.equal(numberName(name), null, name)
})

function shown(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))
}
