/** Which shapes have a twin, and what it is. */
import t from 'tap'
import type { Json } from '../../src/schema/json-schema.js'
import { containsInt64, mayBeInteger, numberName, twinName, twinWriter } from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'

const id = { type: 'integer', format: 'int64' }

t.test('the twin of a name is <name>_str', async (t) => {
  t.equal(twinName('id'), 'id_str')
  t.equal(twinName('friend_ids'), 'friend_ids_str')
  t.equal(twinName(''), '_str')
  t.equal(numberName('id_str_str'), 'id_str')
  for (const name of ['id', 'str', 'id_st', '']) t.equal(numberName(name), null, name)
})

t.test('a declared 64-bit integer is found, also in a shape that contains itself', async (t) => {
  const node = (own: Json) => shapeOf({ type: 'object', properties: { next: { $ref: '#' }, own } })
  t.equal(containsInt64(node(id)), true)
  t.equal(containsInt64(node({ type: 'integer' })), false)
  t.equal(twinWriter(shapeOf(id))(null), 'null')
  const others = ['string', 'number'].map((type) => mayBeInteger(shapeOf({ type })))
  t.strictSame(others, [false, true], 'a number may be a large integer')
})
