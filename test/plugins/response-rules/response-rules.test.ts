import t from 'tap'
import { schemaBreaches } from '../../../src/plugins/response-rules/breaches.js'
import type { ResponseRule, ResponseVocabulary } from '../../../src/plugins/response-rules/options.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { condition, vocabulary } from './rules-vocabulary.js'

/** A schema, and what is wrong with it: `[place and fault, what to write instead]` each. */
interface Case {
  readonly about: string
  readonly schema: Json
  readonly wrong?: readonly (readonly [RegExp, RegExp])[]
  readonly with?: Partial<ResponseVocabulary>
}

type Properties = Readonly<Record<string, Json>>

const object = (properties: Properties, others: Properties = {}): Json => ({
  type: 'object',
  properties,
  ...others,
})
const list = (items: Json, others: Properties = {}): Json => ({ type: 'array', items, ...others })
const word: Json = { type: 'string' }
const anything = object({ id: { type: 'integer' } })

const cases: Readonly<Record<ResponseRule, readonly Case[]>> = {
  object: [
    { about: 'an object', schema: anything },
    { about: 'an object without a type', schema: { properties: { id: word } } },
    { about: 'an object or null', schema: { type: ['object', 'null'] } },
    { about: 'a nullable object', schema: { type: 'object', nullable: true } },
    { about: 'no body', schema: { type: 'null' } },
    { about: 'a schema that allows everything', schema: true },
    { about: 'a schema that does not say', schema: { description: 'whatever' } },
    { about: 'alternatives that are objects', schema: { anyOf: [anything, anything, { type: 'null' }] } },
    { about: 'an array', schema: list(anything), wrong: [[/the body is an array/, /<collection>/]] },
    { about: 'an array without a type', schema: { items: anything }, wrong: [[/an array/, /<collection>/]] },
    { about: 'a tuple', schema: { type: 'array', prefixItems: [word] }, wrong: [[/an array/, /<coll/]] },
    { about: 'a nullable array', schema: { type: ['array', 'null'] }, wrong: [[/an array/, /<coll/]] },
    { about: 'a number', schema: { type: 'integer' }, wrong: [[/the body is an integer/, /<name>/]] },
    { about: 'a truth value', schema: { type: 'boolean' }, wrong: [[/is a boolean/, /<name>/]] },
    { about: 'a listed word', schema: { enum: ['a'] }, wrong: [[/is a string/, /<name>/]] },
    {
      about: 'alternatives of which one is an array',
      schema: { oneOf: [anything, list(anything)] },
      wrong: [[/an array/, /<collection>/]],
    },
    {
      about: 'a condition of which one side is an array',
      schema: condition(anything, list(anything)),
      wrong: [[/an array/, /<collection>/]],
    },
    {
      about: 'an array by reference',
      schema: { $ref: '#/definitions/all', definitions: { all: list(anything) } },
      wrong: [[/an array/, /<collection>/]],
    },
    { about: 'an array by allOf', schema: { allOf: [list(anything)] }, wrong: [[/an array/, /<coll/]] },
  ],
  envelope: [
    { about: 'a list under its name', schema: object({ users: list(anything), total: { type: 'integer' } }) },
    { about: 'a resource with data of its own', schema: object({ id: word, data: anything }) },
    { about: 'a health check', schema: object({ status: word, message: word }) },
    { about: 'a result that is a word', schema: object({ result: word }) },
    { about: 'no members', schema: { type: 'object' } },
    { about: 'data further down', schema: object({ user: object({ data: anything }) }) },
    {
      about: 'an operation with its states',
      schema: object({
        status: { type: 'string', enum: ['In progress', 'Succeeded', 'Failed'] },
        result: anything,
        error: anything,
      }),
    },
    {
      about: 'data',
      schema: object({ data: anything }),
      wrong: [[/^\/data wraps the resource/, /the members of data at the top level/]],
    },
    {
      about: 'data and a list in it',
      schema: object({ data: list(anything), meta: anything }),
      wrong: [[/^\/data wraps the list/, /<collection>/]],
    },
    {
      about: 'headers and response',
      schema: object({ headers: anything, response: anything }),
      wrong: [[/^\/response wraps/, /status and headers/]],
    },
    {
      about: 'an outcome as a word that is listed',
      schema: object({ status: { enum: ['success', 'error'] }, data: anything }),
      wrong: [[/^\/data/, /./]],
    },
    {
      about: 'a wrapped value of no type',
      schema: object({ result: {}, code: { type: 'integer' }, message: word }),
      wrong: [[/^\/result/, /./]],
    },
    {
      about: 'parts that allOf puts together',
      schema: { allOf: [object({ success: { type: 'boolean' } }), object({ payload: anything })] },
      wrong: [[/^\/payload/, /./]],
    },
    {
      about: 'parts that allOf makes a resource of',
      schema: { allOf: [object({ id: word }), object({ payload: anything })] },
    },
    {
      about: 'one alternative of several',
      schema: { anyOf: [object({ id: word }), object({ data: anything })] },
      wrong: [[/^\/data/, /./]],
    },
  ],
  keys: [
    { about: 'snake_case', schema: object({ created_by: word, id: word }) },
    { about: 'keys that are not judged', schema: object({ _Links: word, $Ref: word, '2024': word }) },
    {
      about: 'camelCase where the API has it',
      schema: object({ createdBy: word, friendIds: list(word), friendIds_str: list(word) }),
      with: { keyStyle: 'camelCase' },
    },
    {
      about: 'maps',
      schema: object({
        rates: { type: 'object', additionalProperties: { type: 'number' } },
        texts: { type: 'object', patternProperties: { '^[a-z]{2}-[A-Z]{2}$': word } },
      }),
    },
    {
      about: 'camelCase',
      schema: object({ createdBy: word }),
      wrong: [[/^\/createdBy is not in snake_case/, /^created_by$/]],
    },
    {
      about: 'snake_case where the API has camelCase',
      schema: object({ created_by: word }),
      with: { keyStyle: 'camelCase' },
      wrong: [[/^\/created_by is not in camelCase/, /^createdBy$/]],
    },
    {
      about: 'a twin without its number',
      schema: object({ id_str: word }),
      with: { keyStyle: 'camelCase' },
      wrong: [[/^\/id_str/, /^idStr$/]],
    },
    {
      about: 'everywhere below: objects, lists, tuples, maps',
      schema: object({
        home: object({ zipCode: word }),
        lines: list(object({ unitPrice: word })),
        pair: { type: 'array', prefixItems: [object({ oneKey: word })] },
        old_pair: { type: 'array', items: [object({ otherKey: word })] },
        shops: { type: 'object', additionalProperties: object({ openNow: word }) },
        texts: { type: 'object', patternProperties: { '^.*$': object({ longText: word }) } },
      }),
      wrong: [
        [/^\/home\/zipCode /, /^zip_code$/],
        [/^\/lines\/\*\/unitPrice /, /^unit_price$/],
        [/^\/pair\/\*\/oneKey /, /^one_key$/],
        [/^\/old_pair\/\*\/otherKey /, /^other_key$/],
        [/^\/shops\/\*\/openNow /, /^open_now$/],
        [/^\/texts\/\*\/longText /, /^long_text$/],
      ],
    },
    {
      about: 'a key with a slash and a tilde, as a JSON Pointer has it',
      schema: object({ 'a/b~C': word }),
      wrong: [[/^\/a~1b~0C /, /^a_b_c$/]],
    },
  ],
  plural: [
    {
      about: 'lists in the plural',
      schema: object({ users: list(word), tag_ids: list(word), data_points: list(word) }),
    },
    { about: 'scalars and objects of any name', schema: object({ user: anything, tags: word }) },
    { about: 'a list that has no plural', schema: object({ id: word, history: list(word) }) },
    {
      about: 'a tuple',
      schema: object({
        position: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }] },
        place: { type: 'array', items: [{ type: 'number' }] },
        range: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
      }),
    },
    { about: 'a twin of a list', schema: object({ friend_ids: list(word), friend_ids_str: list(word) }) },
    { about: 'a word or a list', schema: object({ tag: { anyOf: [word, list(word)] } }) },
    {
      about: 'a word of the domain',
      schema: object({ embedding: list({ type: 'number' }) }),
      with: { words: new Set(['embedding']) },
    },
    {
      about: 'a list in the singular',
      schema: object({ user: list(anything) }),
      wrong: [[/^\/user is a list under a singular name/, /^users$/]],
    },
    {
      about: 'a list or null',
      schema: object({ tag: { type: ['array', 'null'], items: word } }),
      wrong: [[/^\/tag /, /^tags$/]],
    },
    {
      about: 'a list by reference, further down',
      schema: object(
        { order: object({ line_item: { $ref: '#/definitions/lines' } }) },
        { definitions: { lines: list(anything) } },
      ),
      wrong: [[/^\/order\/line_item /, /^line_items$/]],
    },
    {
      about: 'a list in the singular and its twin, told once',
      schema: object({ friend_id: list(word), friend_id_str: list(word) }),
      wrong: [[/^\/friend_id /, /^friend_ids$/]],
    },
  ],
  sex: [
    { about: 'the biological sexes', schema: object({ sex: { enum: ['male', 'female', 'intersex'] } }) },
    {
      about: 'two of them, in capitals, or null',
      schema: object({ sex: { enum: ['MALE', 'Female', null] } }),
    },
    { about: 'one as a constant', schema: object({ sex: { const: 'female' } }) },
    { about: 'alternatives', schema: object({ sex: { oneOf: [{ const: 'male' }, { const: 'female' }] } }) },
    { about: 'a gender of free text', schema: object({ gender: word }) },
    { about: 'genders', schema: object({ gender: { enum: ['female', 'male', 'nonbinary', 'other'] } }) },
    {
      about: 'other things',
      schema: object({ same_sex: { type: 'boolean' }, sextant: word, genders: word }),
    },
    {
      about: 'free text',
      schema: object({ sex: word }),
      wrong: [[/^\/sex has no enum of the biological sexes/, /"male","female","intersex","unknown"/]],
    },
    {
      about: 'identities',
      schema: object({ patient_sex: { enum: ['male', 'female', 'nonbinary'] } }),
      wrong: [[/^\/patient_sex has values that are not a biological sex: nonbinary/, /^gender, or "enum"/]],
    },
    {
      about: 'a gender that is the sex',
      schema: object({ gender: { enum: ['male', 'female', 'unknown'] } }),
      wrong: [[/^\/gender has the biological sexes as its values/, /^sex$/]],
    },
  ],
  dates: [
    {
      about: 'times with their formats',
      schema: object({
        created_at: { type: 'string', format: 'date-time' },
        deleted_at: { type: ['string', 'null'], format: 'date-time' },
        birth_date: { type: 'string', format: 'date' },
        due_date: { type: 'string', format: 'date-time' },
        opening_time: { type: 'string', format: 'time' },
        timestamp: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
      }),
    },
    {
      about: 'Unix times',
      schema: object({ created_at_unix: { type: 'integer' }, seen_ts: { type: 'number' } }),
    },
    {
      about: 'Unix times by declaration',
      schema: object({ created_at: { type: 'integer' } }),
      with: { unixTimes: ['created_at'] },
    },
    {
      about: 'names that are not times',
      schema: object({ response_time: { type: 'integer' }, seat: word, up_to_date: { type: 'boolean' } }),
    },
    { about: 'listed words', schema: object({ best_time: { type: 'string', enum: ['morning', 'noon'] } }) },
    { about: 'no type', schema: object({ created_at: {} }) },
    {
      about: 'a name that the service says is none',
      schema: object({ half_time: { type: 'integer' } }),
      with: { words: new Set(['half_time']) },
    },
    {
      about: 'a format that another part of allOf adds',
      schema: { allOf: [object({ paid_at: word }), object({ paid_at: { format: 'date-time' } })] },
    },
    {
      about: 'strings without a format',
      schema: object({ created_at: word, birth_date: word, start_time: word, date: word, timestamp: word }),
      wrong: [
        [/^\/created_at is a time without "format": "date-time"$/, /^"format": "date-time"$/],
        [/^\/birth_date .*"date" or "date-time"$/, /^"format": "date"$/],
        [/^\/start_time /, /^"format": "date-time"$/],
        [/^\/date /, /^"format": "date"$/],
        [/^\/timestamp /, /^"format": "date-time"$/],
      ],
    },
    {
      about: 'another format',
      schema: object({
        created_at: { type: 'string', format: 'date' },
        sent_at: { type: 'string', format: 'uri' },
      }),
      wrong: [
        [/^\/created_at /, /date-time/],
        [/^\/sent_at /, /date-time/],
      ],
    },
    {
      about: 'camelCase',
      schema: object({ createdAt: { type: ['string', 'null'] } }),
      with: { keyStyle: 'camelCase' },
      wrong: [[/^\/createdAt /, /date-time/]],
    },
    {
      about: 'a number',
      schema: object({ created_at: { type: 'integer' } }),
      wrong: [[/^\/created_at is a time as a number/, /"date-time"; or a name in _unix/]],
    },
    {
      about: 'a number where no ending is for Unix times',
      schema: object({ created_at: { type: 'number' } }),
      with: { unixTimes: [] },
      wrong: [[/^\/created_at /, /or the name in unixTimes/]],
    },
  ],
}

for (const [rule, table] of Object.entries(cases)) {
  t.test(`the rule ${rule}`, async (t) => {
    for (const { about, schema, wrong = [], with: others } of table) {
      const { breaches } = schemaBreaches(schema, {}, { ...vocabulary, ...others })
      t.same(
        breaches.map((breach) => breach.rule),
        wrong.map(() => rule),
        `${about}: this rule and no other`,
      )
      for (const [index, [problem, instead]] of wrong.entries()) {
        t.match(breaches[index]?.problem, problem, `${about}: what is wrong`)
        t.match(breaches[index]?.instead, instead, `${about}: what to write instead`)
      }
    }
  })
}
