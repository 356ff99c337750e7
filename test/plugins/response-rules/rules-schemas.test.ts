import fc from 'fast-check'
import t from 'tap'
import { schemaBreaches, successSchemas } from '../../../src/plugins/response-rules/breaches.js'
import {
  defaultUnixTimes,
  type ResponseRule,
  type ResponseVocabulary,
} from '../../../src/plugins/response-rules/words.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { forAll, inRuns } from '../../support/property.js'

/** The default vocabulary. */
const vocabulary: ResponseVocabulary = {
  keyStyle: 'snake_case',
  words: new Set(),
  unixTimes: defaultUnixTimes,
}

/** A schema that has two sides; put together of entries, for an object with a `then` looks like a promise. */
const condition = (positive: Json, negative: Json): Json =>
  Object.fromEntries<Json>([
    ...Object.entries({ if: { type: 'object' }, else: negative }),
    ['then', positive],
  ])

/** A schema, and why it is right or what is wrong with it: `[place and fault, what to write instead]` each. */
type Case = readonly [
  schema: Json,
  expected: string | readonly (readonly [RegExp, RegExp])[],
  others?: Partial<ResponseVocabulary>,
]

type Properties = Readonly<Record<string, Json>>

const object = (properties: Properties): Json => ({ type: 'object', properties })
const camelCase = { keyStyle: 'camelCase' } as const
const domain = { words: new Set(['embedding', 'half_time']) }
const integer: Json = { type: 'integer' }
const number: Json = { type: 'number' }
const truth: Json = { type: 'boolean' }
const list = (items: Json, others: Properties = {}): Json => ({ type: 'array', items, ...others })
const word: Json = { type: 'string' }
const instant: Json = { type: 'string', format: 'date-time' }
const map = (additionalProperties: Json): Json => ({ type: 'object', additionalProperties })
const anything = object({ id: { type: 'integer' } })
const states: Json = { type: 'string', enum: ['In progress', 'Succeeded', 'Failed'] }
const outcomes = ['Success', 'fail', 'failure', 'error', 'ok', 0]
const notASex = /^\/patient_sex has values that are not a biological sex: nonbinary/

const cases: Readonly<Record<Exclude<ResponseRule, 'delete'>, readonly Case[]>> = {
  object: [
    [anything, 'an object'],
    [{ type: ['object', 'null'] }, 'an object or null'],
    [{ type: 'null' }, 'no body'],
    [{ const: null }, 'no body, as a constant'],
    [{ description: 'whatever' }, 'a schema that does not say'],
    [{ anyOf: [anything, anything, { type: 'null' }] }, 'alternatives that are objects'],
    [list(anything), [[/the body is an array/, /<collection>/]]],
    [{ type: ['object', 'array'] }, [[/an array/, /<coll/]]],
    [integer, [[/the body is an integer/, /<name>/]]],
    [{ enum: ['a'] }, [[/is a string/, /<name>/]]],
    [{ oneOf: [anything, list(anything)] }, [[/an array/, /<collection>/]]],
  ],
  envelope: [
    [object({ users: list(anything), total: integer }), 'a list under its name'],
    [object({ id: word, data: anything }), 'a resource with data of its own'],
    [object({ result: word }), 'a result that is a word'],
    [object({ user: object({ data: anything }) }), 'data further down'],
    [object({ status: states, result: anything, error: anything }), 'an operation with its states'],
    [object({ data: anything }), [[/^\/data wraps the resource/, /the members of data at the top level/]]],
    [object({ data: list(anything), meta: anything }), [[/^\/data wraps the list/, /<collection>/]]],
    [object({ data: anything, _links: anything, has_more: truth }), [[/^\/data wraps/, /./]]],
    [object({ headers: anything, response: anything }), [[/^\/response wraps/, /status and headers/]]],
    [object({ status: { enum: outcomes }, data: anything }), [[/^\/data/, /./]]],
    [object({ code: { enum: ['paid'] }, data: anything }), [[/^\/data/, /./]]],
    [object({ first_name: word, data: anything }), 'a resource with a name, and data of its own'],
    [{ allOf: [object({ success: truth }), object({ payload: anything })] }, [[/^\/payload/, /./]]],
    [{ allOf: [object({ id: word }), object({ payload: anything })] }, 'parts that make a resource'],
    [{ anyOf: [object({ id: word }), object({ data: anything })] }, [[/^\/data/, /./]]],
  ],
  keys: [
    [object({ created_by: word, id: word }), 'snake_case'],
    [object({ _Links: word, $Ref: word, '2024': word }), 'keys that are not judged'],
    [object({ createdBy: word, ids: list(word), ids_str: list(word) }), 'camelCase', camelCase],
    [object({ rates: map(number), texts: { patternProperties: { '^[a-z]{2}-[A-Z]{2}$': word } } }), 'maps'],
    [object({ createdBy: word }), [[/^\/createdBy is not in snake_case/, /^created_by$/]]],
    [object({ created_by: word }), [[/^\/created_by is not in camelCase/, /^createdBy$/]], camelCase],
    [object({ id_str: word }), [[/^\/id_str/, /^idStr$/]], camelCase],
    [
      object({
        home: object({ zipCode: word }),
        lines: list(object({ unitPrice: word })),
        pair: { type: 'array', prefixItems: [object({ oneKey: word })] },
        old_pair: { type: 'array', items: [object({ otherKey: word })] },
        shops: map(object({ openNow: word })),
        texts: { type: 'object', patternProperties: { '^.*$': object({ longText: word }) } },
        others: { type: 'object', unevaluatedProperties: object({ lateKey: word }) },
      }),
      [
        [/^\/home\/zipCode /, /^zip_code$/],
        [/^\/lines\/\*\/unitPrice /, /^unit_price$/],
        [/^\/pair\/\*\/oneKey /, /^one_key$/],
        [/^\/old_pair\/\*\/otherKey /, /^other_key$/],
        [/^\/shops\/\*\/openNow /, /^open_now$/],
        [/^\/texts\/\*\/longText /, /^long_text$/],
        [/^\/others\/\*\/lateKey /, /^late_key$/],
      ],
    ],
  ],
  plural: [
    [object({ users: list(word), tag_ids: list(word), data_points: list(word) }), 'lists in the plural'],
    [object({ user: anything, tags: word }), 'scalars and objects of any name'],
    [object({ position: { type: 'array', prefixItems: [number, number] } }), 'a tuple'],
    [object({ range: list(number, { minItems: 2, maxItems: 2 }) }), 'an array of a fixed length'],
    [object({ friend_ids: list(word), friend_ids_str: list(word) }), 'a twin of a list'],
    [object({ tag: { anyOf: [word, list(word)] } }), 'a word or a list'],
    [object({ embedding: list(number), text_embedding: list(number) }), 'a word of the domain', domain],
    [object({ user: list(anything) }), [[/^\/user is a list under a singular name/, /^users$/]]],
    [object({ tag: { type: ['array', 'null'], items: word } }), [[/^\/tag /, /^tags$/]]],
    [object({ friend_id: list(word), friend_id_str: list(word) }), [[/^\/friend_id /, /^friend_ids$/]]],
  ],
  sex: [
    [object({ sex: { enum: ['male', 'female', 'intersex'] } }), 'the biological sexes'],
    [object({ sex: { enum: ['MALE', 'Female', null] } }), 'two of them, in capitals, or null'],
    [object({ sex: { const: 'female' } }), 'one as a constant'],
    [object({ sex: { oneOf: [{ const: 'male' }, { const: 'female' }] } }), 'alternatives'],
    [object({ gender: word }), 'a gender of free text'],
    [object({ gender: { enum: ['female', 'male', 'nonbinary', 'other'] } }), 'genders'],
    [object({ same_sex: truth, sextant: word, genders: word, sexton: word }), 'other things'],
    [object({ sex_assigned_at_birth: word }), [[/^\/sex_assigned_at_birth has no enum/, /./]]],
    [object({ sex: word }), [[/^\/sex has no enum of the bio/, /"male","female","intersex","unknown"/]]],
    [object({ patient_sex: { enum: ['male', 'female', 'nonbinary'] } }), [[notASex, /^gender, or "enum"/]]],
    [object({ gender: { enum: ['male', 'female', 'unknown'] } }), [[/^\/gender has the bio/, /^sex$/]]],
  ],
  dates: [
    [
      object({
        created_at: instant,
        deleted_at: { type: ['string', 'null'], format: 'date-time' },
        birth_date: { type: 'string', format: 'date' },
        due_date: instant,
        opening_time: { type: 'string', format: 'time' },
        timestamp: { anyOf: [instant, { type: 'null' }] },
      }),
      'times with their formats',
    ],
    [object({ created_at_unix: integer, seen_ts: number }), 'Unix times'],
    [object({ created_at: integer }), 'Unix times by declaration', { unixTimes: ['created_at'] }],
    [object({ response_time: integer, seat: word, up_to_date: truth }), 'names that are not times'],
    [object({ best_time: { type: 'string', enum: ['morning', 'noon'] } }), 'listed words'],
    [object({ half_time: integer }), 'a word of the domain', domain],
    [
      object({ created_at: word, birth_date: word, start_time: word, date: word, timestamp: word }),
      [
        [/^\/created_at is a time without "format": "date-time"$/, /^"format": "date-time"$/],
        [/^\/birth_date .*"date" or "date-time"$/, /^"format": "date"$/],
        [/^\/start_time /, /^"format": "date-time"$/],
        [/^\/date /, /^"format": "date"$/],
        [/^\/timestamp /, /^"format": "date-time"$/],
      ],
    ],
    [object({ created_at: { type: 'string', format: 'date' } }), [[/^\/created_at /, /date-time/]]],
    [object({ created_at: integer }), [[/^\/created_at is a time as a number/, /; or a name in _unix/]]],
    [object({ created_at: number }), [[/^\/created_at /, /or the name in unixTimes/]], { unixTimes: [] }],
  ],
}

for (const [rule, table] of Object.entries(cases)) {
  t.test(`the rule ${rule}`, async (t) => {
    for (const [schema, expected, others] of table) {
      const wrong = typeof expected === 'string' ? [] : expected
      const about = typeof expected === 'string' ? expected : JSON.stringify(schema)
      const { breaches } = schemaBreaches(schema, {}, { ...vocabulary, ...others })
      const rules = breaches.map((breach) => breach.rule)
      t.same(rules, Array(wrong.length).fill(rule), `${about}: this rule and no other`)
      for (const [index, [problem, instead]] of wrong.entries()) {
        t.match(breaches[index]?.problem, problem, `${about}: what is wrong`)
        t.match(breaches[index]?.instead, instead, `${about}: what to write instead`)
      }
    }
  })
}

const bad: Json = { type: 'object', properties: { badKey: { type: 'string' } } }

const problemsOf = (schema: Json, shared: Record<string, unknown> = {}): string[] =>
  schemaBreaches(schema, shared, vocabulary).breaches.map(({ problem }) => problem)

t.test('schemas behind a reference are checked, a recursive one in finite time', async (t) => {
  const home = { $ref: '#/$defs/home' }
  const shared = {
    user: { $id: 'user', ...(bad as object) },
    own: { $id: 'own', properties: { home }, $defs: { home: bad } },
    tree: { $id: 'tree', properties: { childNodes: { type: 'array', items: { $ref: 'tree#' } } } },
    a: { $id: 'a', allOf: [{ $ref: 'b#' }] },
    b: { $id: 'b', allOf: [{ $ref: 'a#' }, bad] },
  }
  const places: [string, Json, string | null][] = [
    ['the whole', { $ref: 'user#' }, '/badKey'],
    ['a part of the shared schema', { $ref: 'own#', $defs: { home: { type: 'string' } } }, '/home/badKey'],
    ['items', { properties: { users: { items: { $ref: 'user#' } } } }, '/users/*/badKey'],
    ['beside a type', { properties: { home: { type: 'string', $ref: 'user#' } } }, '/home/badKey'],
    ['a condition', { properties: { home: condition({ $ref: 'user#' }, true) } }, '/home/badKey'],
    ['recursive', { $ref: 'tree#' }, '/childNodes'],
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
    ['Standard Schema', { 200: { type: 'object', '~standard': {} } }, [], notJsonSchema],
    ['content without a schema', { 200: { content: { 'application/json': {} } } }, []],
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
  inRuns(500, value, value, (schema, shared) => {
    const { breaches } = schemaBreaches(schema, { shared }, vocabulary)
    return breaches.every(({ problem, instead }) => problem !== '' && instead !== '')
  })
  forAll(fc.jsonValue(), (schema) => schemaBreaches(schema as Json, {}, vocabulary) !== null)
})
