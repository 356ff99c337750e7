/** Which shapes have a twin, and what it is. */
import t from 'tap'
import type { Json } from '../../src/schema/json-schema.js'
import {
  containsInt64,
  isTwinned,
  mayBeInteger,
  numberName,
  twinName,
  twinWriter,
} from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { compileSerializer } from './compiled.js'

const id = { type: 'integer', format: 'int64' }
const big = 9_007_199_254_740_993n

t.test('the twin of a name is <name>_str', async (t) => {
  t.equal(twinName('id'), 'id_str')
  t.equal(twinName('friend_ids'), 'friend_ids_str')
  t.equal(twinName(''), '_str')
  t.equal(numberName('id_str_str'), 'id_str')
  for (const name of ['id', 'str', 'id_st', '']) t.equal(numberName(name), null, name)
})

t.test('a declared 64-bit integer always has a twin; another integer may have one', async (t) => {
  const rows: readonly (readonly [schema: Json, always: boolean, may: boolean])[] = [
    [id, true, true],
    [{ type: 'integer', format: 'uint64' }, true, true],
    [{ ...id, nullable: true }, true, true],
    [{ type: 'array', items: { type: 'array', items: id } }, true, true],
    [{ anyOf: [id, { type: 'null' }] }, true, true],
    [{ oneOf: [{ type: 'string' }, id] }, true, true],
    [{ type: 'integer' }, false, true],
    [{ type: 'number', format: 'int64' }, false, true],
    [{ type: 'array', items: { type: 'number' } }, false, true],
    [{}, false, true],
    [{ type: 'array' }, false, true],
    [{ type: 'string', format: 'int64' }, false, false],
    [{ type: 'array', items: { type: 'string' } }, false, false],
    [{ type: 'object', properties: { id } }, false, false],
    [{ const: 1 }, false, false],
  ]
  for (const [schema, always, may] of rows) {
    const shape = shapeOf(schema)
    t.strictSame([isTwinned(shape), mayBeInteger(shape)], [always, may], JSON.stringify(schema))
  }
})

t.test('a declared 64-bit integer is found, also in a shape that contains itself', async (t) => {
  const node = (own: Json) => shapeOf({ type: 'object', properties: { next: { $ref: '#' }, own } })
  t.equal(containsInt64(node(id)), true)
  t.equal(containsInt64(node({ type: 'integer' })), false)
})

t.test('the twin of a value, by its shape', async (t) => {
  const rows: readonly (readonly [schema: Json, value: unknown, twin: string | null])[] = [
    [id, big, '"9007199254740993"'],
    [id, '9007199254740993', '"9007199254740993"'],
    [id, 5, '"5"'],
    [id, null, 'null'],
    [{ type: 'integer' }, 5, null],
    [{ type: 'number' }, big, '"9007199254740993"'],
    [{ type: 'number' }, 2 ** 53, null],
    [{}, big, '"9007199254740993"'],
    [{ type: 'string' }, big, null],
    [{ type: 'array', items: id }, [], '[]'],
    [{ type: 'array', items: id }, [1, big, '7'], '["1","9007199254740993","7"]'],
    [{ type: 'array', items: { type: 'integer' } }, [1], null],
    [{ type: 'array', items: { type: 'integer' } }, [1, big], '["1","9007199254740993"]'],
    [{ anyOf: [{ type: 'string' }, id] }, 5, '"5"'],
    [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }, 5n, null],
  ]
  for (const [schema, value, twin] of rows) {
    t.equal(
      twinWriter(shapeOf(schema, {}, { compile: compileSerializer }))(value),
      twin,
      `${JSON.stringify(schema)}: ${String(value)}`,
    )
  }
})
