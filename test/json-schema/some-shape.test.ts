/** A test is put to a shape and to every shape in it, once each. */
import t from 'tap'
import type { Json } from '../../src/json-schema/schema-refs.js'
import { type Shape, shapeOf } from '../../src/json-schema/schema-shape.js'
import { someShape } from '../../src/json-schema/some-shape.js'

const sought = { type: 'boolean' }
const isSought = (shape: Shape): boolean => shape.kind === 'boolean'

t.test('what is sought is found wherever a shape can have it', async (t) => {
  const places: readonly Json[] = [
    sought,
    { type: 'object', properties: { a: { type: 'string' }, b: sought } },
    { type: 'object', patternProperties: { '^x': sought } },
    { type: 'object', additionalProperties: sought },
    { type: 'array', items: sought },
    { type: 'array', items: [{ type: 'string' }, sought] },
    { anyOf: [{ type: 'string' }, sought] },
    { type: 'object', properties: { a: { type: 'array', items: { anyOf: [{ type: 'null' }, sought] } } } },
  ]
  for (const schema of places) {
    t.ok(someShape(shapeOf(schema), isSought), JSON.stringify(schema))
    const without = JSON.parse(JSON.stringify(schema).replaceAll('boolean', 'string')) as Json
    t.notOk(someShape(shapeOf(without), isSought), JSON.stringify(without))
  }
})

t.test('a shape that contains itself is looked at once', async (t) => {
  const node = {
    $id: 'node',
    type: 'object',
    properties: { next: { $ref: 'node#' }, name: { type: 'string' } },
  }
  const seen: string[] = []
  const isNone = (shape: Shape): boolean => {
    seen.push(shape.kind)
    return false
  }
  t.notOk(someShape(shapeOf(node, { node }), isNone))
  t.strictSame(
    seen.filter((kind) => kind === 'text'),
    ['text'],
  )
})
