import fc from 'fast-check'
import t from 'tap'
import { schemaBreaches } from '../../../src/plugins/response-rules/breaches.js'
import { payloadBreaches } from '../../../src/plugins/response-rules/payload.js'
import { pluralName } from '../../../src/plugins/response-rules/words.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { joinWords, type KeyStyle } from '../../../src/words/words.js'
import { vocabulary } from './rules-vocabulary.js'

const style = fc.constantFrom<KeyStyle>('snake_case', 'camelCase')
const words = fc.array(fc.constantFrom('red', 'big', 'house', 'order', 'owner'), {
  minLength: 1,
  maxLength: 3,
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

t.test('no payload makes the check throw or changes by it', async () => {
  const anything = fc.anything({ withDate: true, withMap: true, withBigInt: true, withTypedArray: true })
  fc.assert(
    fc.property(anything, (payload) => {
      const before = fc.stringify(payload)
      payloadBreaches(payload, vocabulary)
      return fc.stringify(payload) === before
    }),
  )
})

t.test('the name that a list should have keeps the rule', async () => {
  fc.assert(
    fc.property(words, style, (all, keyStyle) => {
      const plural = pluralName(joinWords(all, keyStyle), new Set())
      return plural === null || pluralName(plural, new Set()) === null
    }),
  )
})
