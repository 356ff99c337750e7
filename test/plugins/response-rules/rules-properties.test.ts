import fc from 'fast-check'
import t from 'tap'
import { schemaBreaches } from '../../../src/plugins/response-rules/breaches.js'
import { payloadBreaches } from '../../../src/plugins/response-rules/payload.js'
import { pluralName } from '../../../src/plugins/response-rules/words.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { joinWords, type KeyStyle, restyledKey, wordsOf } from '../../../src/words/words.js'
import { vocabulary } from './rules-vocabulary.js'

type Properties = Record<string, Json>

/** A schema and a payload that it is for, both of which keep the rules. */
interface Conforming {
  readonly schema: Json
  readonly payload: unknown
}

const style = fc.constantFrom<KeyStyle>('snake_case', 'camelCase')
const words = fc.array(fc.constantFrom('red', 'big', 'house', 'order', 'owner'), {
  minLength: 1,
  maxLength: 3,
})
const things = fc.constantFrom('houses', 'orders', 'owners', 'children', 'sheep')

const scalar: fc.Arbitrary<Conforming> = fc.oneof(
  fc.string().map((payload) => ({ schema: { type: 'string' }, payload })),
  fc.integer().map((payload) => ({ schema: { type: 'integer' }, payload })),
  fc.boolean().map((payload) => ({ schema: { type: ['boolean', 'null'] }, payload })),
)

const time: fc.Arbitrary<Conforming> = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => ({ schema: { type: 'string', format: 'date-time' }, payload: date.toISOString() }))

const conforming = (keyStyle: KeyStyle) =>
  fc.letrec<{ any: Conforming; object: Conforming }>((tie) => {
    const name = words.map((all) => joinWords(all, keyStyle))
    const lists = fc.tuple(words, things).map(([all, noun]) => joinWords([...all, noun], keyStyle))
    const times = words.map((all) => joinWords([...all, 'at'], keyStyle))
    const list = fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((items) => ({
      schema: { type: 'array', items: { anyOf: items.map((item) => item.schema) } } as Json,
      payload: items.map((item) => item.payload),
    }))
    const member = fc.oneof(
      fc.tuple(name, tie('any')),
      fc.tuple(lists, list),
      fc.tuple(times, time),
      fc.constant<[string, Conforming]>(['sex', { schema: { enum: ['male', 'female'] }, payload: 'male' }]),
    )
    const object = fc.array(member, { maxLength: 4 }).map((members) => ({
      schema: {
        type: 'object',
        properties: Object.fromEntries(members.map(([key, { schema }]) => [key, schema])) as Properties,
      },
      payload: Object.fromEntries(members.map(([key, { payload }]) => [key, payload])),
    }))
    return { any: fc.oneof({ maxDepth: 4 }, scalar, tie('object')), object }
  }).object

t.test('a schema made to keep the rules has no finding, nor has its payload', async (t) => {
  const cases = style.chain((keyStyle) => conforming(keyStyle).map((made) => ({ keyStyle, ...made })))
  fc.assert(
    fc.property(cases, ({ keyStyle, schema, payload }) => {
      const rules = { ...vocabulary, keyStyle }
      const { breaches, unresolved } = schemaBreaches(schema, {}, rules)
      return [...breaches, ...unresolved, ...payloadBreaches(payload, rules)].length === 0
    }),
    { numRuns: 300 },
  )
  t.pass('300 of them')
})

const keywords =
  '$ref type properties items prefixItems allOf anyOf oneOf if then else enum const format description ' +
  'patternProperties additionalProperties minItems sex created_at data'
const keyword = fc.constantFrom(...keywords.split(' '))

t.test('no JSON value as a schema makes the check throw', async (t) => {
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
  t.pass('500 made of keywords, 100 of anything')
})

t.test('no payload makes the check throw or changes by it', async (t) => {
  const anything = fc.anything({ withDate: true, withMap: true, withBigInt: true, withTypedArray: true })
  fc.assert(
    fc.property(anything, (payload) => {
      const before = fc.stringify(payload)
      payloadBreaches(payload, vocabulary)
      return fc.stringify(payload) === before
    }),
  )
  t.pass('100 of them')
})

t.test('a suggestion keeps the rule', async (t) => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc
      .array(fc.constantFrom('a', 'B', '_', '-', '1', 'user', 'IDs', ' '), { maxLength: 8 })
      .map((all) => all.join('')),
  )
  fc.assert(
    fc.property(name, style, (key, keyStyle) => {
      const instead = restyledKey(key, keyStyle)
      return instead === null || restyledKey(instead, keyStyle) === null
    }),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(words, style, (all, keyStyle) => {
      const plural = pluralName(joinWords(all, keyStyle), new Set())
      return plural === null || pluralName(plural, new Set()) === null
    }),
  )
  fc.assert(
    fc.property(words, style, (all, keyStyle) => wordsOf(joinWords(all, keyStyle)).join() === all.join()),
  )
  t.pass('1000 keys, 100 names of lists')
})
