/** Which alternative a payload is for, while it is not JSON yet. */
import t from 'tap'
import { loadAjv, matcherCompiler } from '../../src/json-schema/schema-match.js'
import type { Json, SchemaStore } from '../../src/json-schema/schema-refs.js'

await loadAjv()

const big = 9_007_199_254_740_993n

t.test('a BigInt is an integer and a number; its decimal string is a 64-bit integer only', async (t) => {
  const rows: readonly (readonly [schema: Json, yes: unknown[], no: unknown[]])[] = [
    [{ type: 'integer' }, [1, -1, big], [1.5, '1', null, true, {}]],
    [{ type: 'integer', format: 'int32' }, [1, big], ['1']],
    [
      { type: 'integer', format: 'int64' },
      [1, big, '1', '-1', '9007199254740993'],
      [1.5, '', '1.5', 'a', null, true],
    ],
    [{ type: 'integer', format: 'uint64' }, [1, big, '1'], ['1e3', ' 1']],
    [{ type: 'number' }, [1, 1.5, big], ['1', Number.NaN, Infinity, null]],
    [{ type: 'string' }, ['', 'a', new Date(0)], [1, big, null, {}]],
    [{ type: 'string', format: 'date-time' }, ['1970-01-01T00:00:00Z', new Date(0)], [1]],
    [{ type: 'boolean' }, [true, false], [0, 'true', null]],
    [{ type: 'null' }, [null], [0, '', undefined, {}]],
    [{ type: 'array' }, [[], [1]], [{}, 'a']],
    [{ type: 'object' }, [{}, new (class A {})()], [[], null, 'a']],
    [{ type: ['integer', 'null'] }, [1, big, null], ['1', 1.5]],
    [{ type: ['string', 'integer'], format: 'int64' }, ['a', big], [1.5]],
    [{ type: 'string', nullable: true }, ['a', null], [1]],
    [{}, [1, null, 'a', big, {}], []],
    [true, [1, null], []],
    [{ const: 'a' }, ['a'], ['b', null]],
    [{ enum: ['a', 1] }, ['a', 1], ['b', null]],
  ]
  for (const [schema, yes, no] of rows) {
    const matches = matcherCompiler({})(schema, schema)
    for (const [index, value] of yes.entries()) {
      t.equal(matches(value), true, `${JSON.stringify(schema)}: yes ${index}`)
    }
    for (const [index, value] of no.entries()) {
      t.equal(matches(value), false, `${JSON.stringify(schema)}: no ${index}`)
    }
  }
})

t.test('at any depth, with members that are called like keywords', async (t) => {
  const schema = {
    type: 'object',
    required: ['type', 'nullable'],
    properties: {
      type: { type: 'integer' },
      nullable: { type: 'array', items: { type: 'integer', format: 'int64', nullable: true } },
      format: { enum: [{ type: 'x' }] },
    },
  }
  const matches = matcherCompiler({})(schema, schema)
  t.equal(matches({ type: big, nullable: [big, null, '5'] }), true)
  t.equal(matches({ type: 1, nullable: [], format: { type: 'x' } }), true)
  t.equal(matches({ type: 'a', nullable: [] }), false)
  t.equal(matches({ type: 1, nullable: ['a'] }), false)
  t.equal(matches({ type: 1 }), false)
})

t.test('references are followed: local, shared, into itself', async (t) => {
  const shared: SchemaStore = {
    id: { $id: 'id', type: 'integer', format: 'int64' },
    owner: { $id: 'owner', type: 'object', required: ['id'], properties: { id: { $ref: 'id#' } } },
  }
  const node = {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'integer' }, next: { $ref: '#/definitions/node' } },
  }
  const root = { definitions: { node } }
  const compile = matcherCompiler(shared)
  const matchesNode = compile({ $ref: '#/definitions/node' }, root)
  const matchesOwner = compile({ $ref: 'owner#' }, root)
  t.equal(matchesNode({ id: big, next: { id: 1 } }), true)
  t.equal(matchesNode({ id: big, next: { id: 'a' } }), false)
  t.equal(matchesOwner({ id: '5' }), true)
  t.equal(matchesOwner({ id: 'a' }), false)
  const another = { definitions: { node: { type: 'string' } } }
  t.equal(compile({ $ref: '#/definitions/node' }, another)('a'), true, 'local to another document')
  t.equal(compile({ $ref: '#/definitions/node' }, root)({ id: 1 }), true, 'and to the first one again')
})
