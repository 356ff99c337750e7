import fc from 'fast-check'
import t from 'tap'
import { schemaBreaches, successSchemas } from '../../../src/plugins/response-rules/breaches.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { condition, vocabulary } from './rules-vocabulary.js'

const bad: Json = { type: 'object', properties: { badKey: { type: 'string' } } }

const problemsOf = (schema: Json, shared: Record<string, unknown> = {}): string[] =>
  schemaBreaches(schema, shared, vocabulary).breaches.map(({ problem }) => problem)

t.test('schemas behind a reference are checked, a recursive one in finite time', async (t) => {
  const home = { $ref: '#/$defs/home' }
  const shared = {
    user: { $id: 'user', ...(bad as object), definitions: { part: bad } },
    own: { $id: 'own', properties: { home }, $defs: { home: bad } },
    tree: { $id: 'tree', properties: { childNodes: { type: 'array', items: { $ref: 'tree#' } } } },
    a: { $id: 'a', allOf: [{ $ref: 'b#' }] },
    b: { $id: 'b', allOf: [{ $ref: 'a#' }, bad] },
  }
  const places: [string, Json, string | null][] = [
    ['the whole', { $ref: 'user#' }, '/badKey'],
    ['without a hash', { $ref: 'user' }, '/badKey'],
    ['with siblings', { $ref: 'user#', description: 'one' }, '/badKey'],
    ['a part', { properties: { home: { $ref: 'user#/definitions/part' } } }, '/home/badKey'],
    ['its own part', { properties: { home }, $defs: { home: bad } }, '/home/badKey'],
    ['a part of the shared schema', { $ref: 'own#', $defs: { home: { type: 'string' } } }, '/home/badKey'],
    ['items', { properties: { users: { items: { $ref: 'user#' } } } }, '/users/*/badKey'],
    ['an alternative', { properties: { home: { oneOf: [{ $ref: 'user#' }, true] } } }, '/home/badKey'],
    ['a condition', { properties: { home: condition({ $ref: 'user#' }, true) } }, '/home/badKey'],
    ['a part of allOf in allOf', { allOf: [{ allOf: [{ $ref: 'user#' }] }] }, '/badKey'],
    ['recursive', { $ref: 'tree#' }, '/childNodes'],
    ['itself', { properties: { badKey: { $ref: '#' } } }, '/badKey'],
    ['itself twice', { anyOf: [{ $ref: '#' }, { $ref: '#' }, bad] }, '/badKey'],
    ['two in a circle', { $ref: 'a#' }, '/badKey'],
    ['nothing but itself', { $ref: '#' }, null],
  ]
  for (const [about, schema, place] of places)
    t.same(problemsOf(schema, shared), place === null ? [] : [`${place} is not in snake_case`], about)
})

t.test('many combined alternatives are checked in bounded time', async (t) => {
  const definitions: Record<string, Json> = { d0: bad }
  for (let level = 1; level <= 100; level += 1) {
    const below = { $ref: `#/definitions/d${level - 1}` }
    definitions[`d${level}`] = { anyOf: [below, below], oneOf: [below, below] }
  }
  t.same(problemsOf({ $ref: '#/definitions/d100', definitions }), ['/badKey is not in snake_case'])
  const wide: Json = { allOf: Array.from({ length: 50 }, () => ({ anyOf: [bad, { type: 'object' }] })) }
  t.same(problemsOf(wide), ['/badKey is not in snake_case'])
})

t.test('a very deep schema is checked in bounded time', async (t) => {
  let properties: Json = bad
  let conjunction: Json = bad
  for (let level = 0; level < 5_000; level += 1) {
    properties = { properties: { a: properties } }
    conjunction = { allOf: [conjunction] }
  }
  t.equal(problemsOf(properties).length, 1)
  t.same(problemsOf(conjunction), [], 'deeper than any schema is read')
})

t.test('a schema that is used twice is reported once, at its shortest place', async (t) => {
  const schema: Json = {
    properties: { order: { properties: { home: { $ref: '#/$defs/home' } } }, home: { $ref: '#/$defs/home' } },
    $defs: { home: bad },
  }
  t.same(problemsOf(schema), ['/home/badKey is not in snake_case'])
})

t.test('an unresolved reference is reported', async (t) => {
  const references = ['absent#', '#/$defs/absent', '#/%zz', 'constructor#/x']
  const properties = Object.fromEntries(references.map(($ref, index) => [`part_${index}`, { $ref }]))
  const verdict = schemaBreaches({ properties }, {}, vocabulary)
  t.same(verdict.unresolved, references)
  t.same(verdict.breaches, [])
})

t.test('the schemas of success are found', async (t) => {
  const text = { 'text/csv': { schema: { type: 'string' } } }
  const json = { 'application/json': { schema: bad }, 'application/hal+json; q=1': { schema: bad } }
  const notJsonSchema = ['200: the schema is not a JSON Schema']
  const ownFormat = ['200: application/problem+json has a format of its own']
  const content = (type: string, schema: unknown) => ({ 200: { content: { [type]: { schema } } } })
  const cases: [string, unknown, judged: string[], excluded?: string[]][] = [
    ['nothing', undefined, []],
    ['no object', 'x', []],
    ['null', { 200: null }, []],
    ['2xx', { 200: bad, 201: bad, '2xx': bad, '2XX': bad }, ['200', '201', '2xx', '2xx']],
    ['errors', { 400: bad, '4xx': bad, '5XX': bad, 302: bad }, []],
    ['default alone', { 400: bad, default: bad }, ['default']],
    ['default beside a success is for errors', { 200: bad, default: bad }, ['200']],
    ['no body', { 200: { type: 'null' }, 204: bad, 205: bad }, []],
    ['nothing but words', { 200: { description: 'fine', 'x-note': 1 }, 201: {}, 202: true }, []],
    [
      'media types',
      { 200: { content: { ...text, ...json } } },
      ['200', '200'],
      ['200: text/csv is not JSON'],
    ],
    ['a problem document', content('application/problem+json', bad), [], ownFormat],
    ['any media type', content('*/*', bad), ['200']],
    ['text', { 200: { type: 'string' } }, [], ['200: a string, which is sent as text']],
    ['JSON that is a string', content('application/json', { type: 'string' }), ['200']],
    ['a class', { 200: new Map() }, [], notJsonSchema],
    ['a function', { 200: () => true }, [], notJsonSchema],
    ['Standard Schema', { 200: { type: 'object', '~standard': {} } }, [], notJsonSchema],
    ['a class in content', content('application/json', new Map()), [], notJsonSchema],
    ['content without a schema', { 200: { content: { 'application/json': {} } } }, []],
    ['no prototype', { 200: Object.assign(Object.create(null), bad) }, ['200']],
  ]
  for (const [about, response, judged, excluded = []] of cases) {
    const found = successSchemas(response)
    const statuses = found.judged.map(({ status }) => status)
    t.strictSame(statuses, judged, `${about}: judged`)
    t.same(found.excluded, excluded, `${about}: excluded`)
  }
})

const keywords =
  '$ref type properties items prefixItems allOf anyOf oneOf if then else enum const format description ' +
  'patternProperties additionalProperties minItems sex created_at data'
const keyword = fc.constantFrom(...keywords.split(' '))

t.test('no JSON value as a schema makes the check throw', async () => {
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<Json>('#', '#/properties', 'shared#', 'array', 'object', 'string', null, true, 0),
      fc.string(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(keyword, fc.string()), tie('value'), { maxKeys: 5 }),
    ),
  }))
  fc.assert(
    fc.property(value, value, (schema, shared) => {
      const { breaches } = schemaBreaches(schema, { shared }, vocabulary)
      return breaches.every(({ problem, instead }) => problem !== '' && instead !== '')
    }),
    { numRuns: 500 },
  )
  fc.assert(fc.property(fc.jsonValue(), (schema) => schemaBreaches(schema as Json, {}, vocabulary) !== null))
})
