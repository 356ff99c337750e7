import { isSchemaObject, type Json, type SchemaStore } from '../../json-schema/json-schema.js'
import { SchemaReader } from '../../json-schema/reader.js'
import { bodyFor, responseBodies } from '../../json-schema/responses.js'
import type { Shape } from '../../json-schema/shape.js'
import { isObject } from '../../options.js'
import { type CsvList, csvListOf, type ListPlace } from './csv-columns.js'
import type { ResolvedFormats } from './options.js'
import { rootName } from './route-writers.js'
import { type XmlPlace, xmlPlaceOf } from './xml-body.js'

/** What is known of a route with formats when the app gets ready. */
export interface RouteFacts {
  readonly options: ResolvedFormats
  /** The last word of the path, in the style of the API's keys. */
  readonly collection: string
  /** Member with the items by `config.lists`; `null` if it does not name one. */
  readonly member: string | null
  /** The response schemas as the route declares them. */
  readonly response: unknown
  /** The shape of a 200; `undefined` if it cannot be read. */
  readonly answer: Shape | undefined
  /** Schemas that others refer to. */
  readonly shared: SchemaStore
}

/** What is wrong with a route: the rule, the problem, and what to write instead. */
export type FormatsFinding = readonly [rule: 'parameter' | 'csv' | 'body', problem: string, instead: string]

/** What the schemas say of the responses of a route. */
export interface PreparedResponses {
  readonly collection: string
  readonly root: string
  /** `null` if the route has no CSV. */
  readonly list: CsvList | null
  readonly finding: FormatsFinding | null
}

export function prepareResponses(facts: RouteFacts): PreparedResponses {
  const { options, answer } = facts
  const place = listPlaceOf(facts)
  const csv = options.produces?.includes('csv') === true ? csvListOf(answer, place) : null
  const root = options.root ?? rootName(titleOf(facts), answer, facts.collection, place.members)
  const named = { root, collection: facts.collection }
  if (csv === null || 'columns' in csv) return { ...named, list: csv, finding: null }
  return { ...named, list: null, finding: ['csv', csv.problem, csv.instead] }
}

export function parameterFinding(parameter: string): FormatsFinding {
  return [
    'parameter',
    `the query parameter '${parameter}' is declared by the route, and selects the format`,
    "formats: { parameter: '…' } with another name",
  ]
}

function listPlaceOf({ options: { list }, member, collection }: RouteFacts): ListPlace {
  if (list !== undefined) return { members: [list], isGuess: false }
  return { members: member === null ? [collection] : [member, collection], isGuess: true }
}

function titleOf({ response, shared }: RouteFacts): unknown {
  const schema = bodyFor(responseBodies(response), 200)?.schema
  if (!isSchemaObject(schema)) return undefined
  const reader = new SchemaReader(shared, { onUnresolved: () => {} })
  return reader.read(schema, schema).parts.find(({ title }) => title !== undefined)?.title
}

export function prepareBody(
  methods: readonly string[],
  declared: unknown,
  shared: SchemaStore,
): XmlPlace | FormatsFinding {
  if (methods.every((method) => bodiless.has(method)))
    return ['body', `${methods.join(', ')} has no body`, 'body: false']
  const body = jsonBodyOf(declared)
  if (!isSchemaObject(body))
    return ['body', 'XML needs a body schema that says what is a number or an array', 'schema: { body: … }']
  try {
    const place = xmlPlaceOf(body, shared)
    return 'kind' in place ? place : unclear(place.pointer)
  } catch (error) {
    return ['body', `the body schema cannot be read: ${(error as Error).message}`, 'a JSON Schema']
  }
}

const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

function unclear(pointer: string): FormatsFinding {
  const where = pointer === '' ? 'the body' : `'${pointer}' of the body`
  return [
    'body',
    `the schema does not say whether ${where} is an object, an array or a value, and XML does not either`,
    'one type, and items for an array',
  ]
}

function jsonBodyOf(body: unknown): Json | undefined {
  if (!isObject(body) || !isObject(body.content)) return body as Json | undefined
  const json = body.content['application/json']
  return isObject(json) ? (json.schema as Json | undefined) : undefined
}
