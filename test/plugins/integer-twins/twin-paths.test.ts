/** What `report` tells of a payload: which integer would get a twin, and which has lost its digits (decisions.md §3). */
import t from 'tap'
import type { Json } from '../../../src/json-schema/json-schema.js'
import { shapeOf } from '../../../src/json-schema/shape.js'
import { twinPaths } from '../../../src/plugins/integer-twins/twin-paths.js'
import { compileSerializer } from '../../json-schema/compiled.js'

const lostAt = 2 ** 53
const big = 2n ** 60n
const id = { type: 'integer', format: 'int64' }

t.test('without a schema: the path of the first unsafe integer, however the value is built', async (t) => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const rows: readonly (readonly [value: unknown, path: string | null])[] = [
    [{ id: 1 }, null],
    [{ id: big }, 'id'],
    [{ a: { b: [1, { c: big }] } }, 'a.b.1.c'],
    [[big], '0'],
    [[lostAt], null],
    [big, ''],
    [circle, null],
    [null, null],
    ['9007199254740993', null],
  ]
  for (const [value, twin] of rows) t.strictSame(twinPaths(value), { twin, lost: null })
})

t.test('by the schema: what is declared has a twin, unless its digits are lost', async (t) => {
  const rows: readonly (readonly [
    property: Json,
    value: unknown,
    twin: string | null,
    lost: string | null,
  ])[] = [
    [id, 5, 'a', null],
    [id, big, 'a', null],
    [id, '9007199254740993', 'a', null],
    [id, null, 'a', null],
    [id, undefined, null, null],
    [id, lostAt, null, 'a'],
    [id, -lostAt, null, 'a'],
    [{ type: 'integer' }, lostAt, null, null],
    [{ type: 'integer' }, big, 'a', null],
    [{ type: 'integer' }, 5, null, null],
    [{ type: 'array', items: id }, [1, lostAt], 'a.0', 'a.1'],
    [{ type: 'object', additionalProperties: id }, { x: lostAt }, null, 'a.x'],
    [{ type: 'object', patternProperties: { '^i': id } }, { i: lostAt, j: big }, null, 'a.i'],
    [{ anyOf: [{ type: 'null' }, id] }, lostAt, null, 'a'],
    [{ anyOf: [{ type: 'string' }, id] }, 'x', null, null],
    [{ type: 'object', properties: {} }, { hidden: big }, null, null],
    [{}, { open: big }, 'a.open', null],
  ]
  for (const [property, value, twin, lost] of rows) {
    const shape = shapeOf({ type: 'object', properties: { a: property } }, {}, { compile: compileSerializer })
    t.strictSame(twinPaths({ a: value }, shape), { twin, lost }, JSON.stringify(property))
  }
})

t.test('the search is bounded: a payload of any size costs at most 10,000 visits', async (t) => {
  let reads = 0
  const item = {
    get n() {
      reads++
      return 1
    },
  }
  t.strictSame(twinPaths(Array.from({ length: 50_000 }, () => item)), { twin: null, lost: null })
  t.ok(reads <= 10_000, `${reads} reads`)
})
