import { LruMap } from 'toad-cache'
import { isJson } from '../../http/media-types.js'
import { kept } from '../../kept.js'
import { problemMediaType } from '../../problem/problem-error.js'
import {
  isPlainObject,
  isSchemaObject,
  type Json,
  namedSchemas,
  pointerToken,
  type SchemaObject,
  type SchemaStore,
  schemaList,
  typesOf,
} from '../../schema/json-schema.js'
import { constrains, formsOf, partsOf, propertiesOf, SchemaReader } from '../../schema/reader.js'
import { successBodies } from '../../schema/responses.js'
import { restyledKey } from '../../words/words.js'
import {
  isMetadata,
  isOutcome,
  isTwin,
  mayWrap,
  nounOf,
  pluralName,
  type ResponseRule,
  type ResponseVocabulary,
  responseRuleNames,
  type TimeFormats,
  timeFormats,
} from './words.js'

export interface ResponseBreach {
  readonly rule: ResponseRule
  readonly problem: string
  readonly instead: string
}

export interface SchemaVerdict {
  readonly breaches: readonly ResponseBreach[]
  /** References that cannot be resolved: the schemas behind them were not checked. */
  readonly unresolved: readonly string[]
}

type Parts = readonly SchemaObject[]
type Fault = readonly [problem: string, instead: string]

/** Returns how a member that is a time breaks the rule; `null` if it keeps it. */
export type TimeFault = (parts: Parts, types: ReadonlySet<string>, formats: TimeFormats) => Fault | null

/** A subschema that is used twice is reported once, at its shortest place. Never throws, whatever the schema is. */
export function schemaBreaches(
  schema: Json,
  shared: SchemaStore,
  vocabulary: ResponseVocabulary,
  timeFault: TimeFault = formatFault(vocabulary),
): SchemaVerdict {
  const unresolved = new Set<string>()
  const reader = new SchemaReader(shared, (reference) => unresolved.add(reference))
  const start = reader.absolute(schema)
  const breaches = formsOf(reader, start).flatMap((form) => topLevelBreaches(form, reader))
  const seen = new Set<SchemaObject>()
  const pending = [{ parts: partsOf(reader, [start]), pointer: '' }]
  for (const { parts, pointer } of pending) {
    const fresh = parts.filter((part) => !seen.has(part))
    for (const part of fresh) seen.add(part)
    const members = propertiesOf(parts)
    // Members of schemas that were all seen before have been judged.
    const unjudged = fresh.length === parts.length ? members : propertiesOf(fresh)
    for (const name of unjudged.keys()) {
      const schemas = members.get(name) ?? []
      if (factsOf(name, vocabulary).isUsual && schemas.every(isPlainScalar)) continue
      const member = partsOf(reader, schemas)
      const place = `${pointer}/${pointerToken(name)}`
      const faults = memberFaults(name, member, members, vocabulary, timeFault)
      for (const rule of responseRuleNames) {
        const [problem, instead] = faults[rule] ?? []
        if (problem && instead) breaches.push({ rule, problem: `${place} ${problem}`, instead })
      }
      if (!member.every(isScalar)) pending.push({ parts: member, pointer: place })
    }
    for (const nameless of namelessOf(fresh))
      pending.push({ parts: partsOf(reader, [nameless]), pointer: `${pointer}/*` })
  }
  const unique = new Map(breaches.map((breach) => [`${breach.rule} ${breach.problem}`, breach]))
  return { breaches: [...unique.values()], unresolved: [...unresolved] }
}

function topLevelBreaches(form: Parts, reader: SchemaReader): ResponseBreach[] {
  const types = typesOfParts(form)
  const bare = ['array', ...types].find((type) => types.has(type) && type !== 'null')
  if (bare === 'array' || (bare !== undefined && !types.has('object'))) {
    const instead = bare === 'array' ? '{ "<collection>": [...] }' : '{ "<name>": … }'
    const article = /^[aeiou]/.test(bare) ? 'an' : 'a'
    return [{ rule: 'object', problem: `the body is ${article} ${bare}, not an object`, instead }]
  }
  const declared = propertiesOf(form)
  if (![...declared.keys()].some(mayWrap)) return []
  const wrapping: { readonly name: string; readonly isList: boolean }[] = []
  for (const [name, schemas] of declared) {
    const member = partsOf(reader, schemas)
    const memberTypes = typesOfParts(member)
    const isList = memberTypes.has('array')
    const values = valuesOf(member)
    const isState = values.length > 0 && !values.every(isOutcome)
    const canWrap = memberTypes.size === 0 || isList || memberTypes.has('object')
    if (mayWrap(name) && canWrap) wrapping.push({ name, isList })
    else if (!isMetadata(name, isState)) return []
  }
  const [wrapper] = wrapping
  if (wrapper === undefined) return []
  const { name, isList } = wrapper
  const problem = `/${pointerToken(name)} wraps the ${isList ? 'list' : 'resource'}`
  const kept = isList ? '{ "<collection>": [...] }' : `the members of ${name} at the top level`
  return [{ rule: 'envelope', problem, instead: `${kept}, the rest in status and headers` }]
}

function memberFaults(
  name: string,
  parts: Parts,
  siblings: { has(name: string): boolean },
  vocabulary: ResponseVocabulary,
  timeFault: TimeFault,
): Readonly<Partial<Record<ResponseRule, Fault | null>>> {
  const { keyStyle, words } = vocabulary
  const facts = factsOf(name, vocabulary)
  const types = typesOfParts(parts)
  const isJudged = !isTwin(name, siblings)
  const restyled = isJudged ? facts.restyled : null
  const isList = types.has('array') && [...types].every((type) => type === 'array' || type === 'null')
  const plural = isJudged && isList && !isTuple(parts) ? pluralName(name, words) : null
  // Listed values are words, whatever the name: `best_time: "morning"`.
  const isWord = words.has(name) || valuesOf(parts).some((value) => value !== null)
  const formats = isWord ? null : facts.formats
  return {
    keys: restyled === null ? null : [`is not in ${keyStyle}`, restyled],
    plural: plural === null ? null : ['is a list under a singular name', plural],
    sex: sexFault(facts.noun, parts, types),
    dates: formats === null ? null : timeFault(parts, types, formats),
  }
}

interface NameFacts {
  /** The name in the key style; `null` if it has it. */
  readonly restyled: string | null
  readonly noun: string
  readonly formats: TimeFormats | null
  /** Whether a scalar of the name breaks no rule. */
  readonly isUsual: boolean
}

// The schemas of an API have the same names again and again; payloads may have any.
const keptNames = 1000
const namesOf = new WeakMap<ResponseVocabulary, LruMap<NameFacts>>()

function factsOf(name: string, vocabulary: ResponseVocabulary): NameFacts {
  const { keyStyle, unixTimes } = vocabulary
  const names = kept(namesOf, vocabulary, () => new LruMap<NameFacts>(keptNames))
  return kept(names, name, () => {
    const restyled = restyledKey(name, keyStyle)
    const noun = nounOf(name)
    const formats = timeFormats(name, unixTimes)
    return { restyled, noun, formats, isUsual: (restyled ?? formats) === null && !sexNouns.includes(noun) }
  })
}

const maxShown = 5
const sexNouns = ['sex', 'gender']
const sexes = ['male', 'female', 'intersex', 'unknown']
const biologicalEnum = `"enum": ${JSON.stringify(sexes)}`

function sexFault(noun: string, parts: Parts, types: ReadonlySet<string>): Fault | null {
  // A boolean such as `same_sex` and an object are not checked.
  const mayBeWord = types.size === 0 || ['string', 'integer', 'number'].some((type) => types.has(type))
  if (!sexNouns.includes(noun) || !mayBeWord) return null
  const values = [...new Set(valuesOf(parts).filter((value) => value !== null))].map(String)
  const others = values.filter((value) => !sexes.includes(value.toLowerCase()))
  if (noun === 'gender') {
    const isSex = values.length > 1 && others.length === 0
    return isSex ? ['has the biological sexes as its values', 'sex'] : null
  }
  if (values.length === 0) return ['has no enum of the biological sexes', biologicalEnum]
  if (others.length === 0) return null
  const shown = others.slice(0, maxShown).join(', ')
  return [`has values that are not a biological sex: ${shown}`, `gender, or ${biologicalEnum}`]
}

function formatFault({ unixTimes }: ResponseVocabulary): TimeFault {
  const suffix = unixTimes.find((pattern) => pattern.startsWith('_'))
  const unix = suffix === undefined ? 'the name in unixTimes' : `a name in ${suffix}, if it is Unix time`
  return (parts, types, formats) => {
    const format = `"format": "${formats[0]}"`
    if (types.has('string') && !hasFormat(parts, formats)) {
      const expected = formats.map((one) => `"${one}"`).join(' or ')
      return [`is a time without "format": ${expected}`, format]
    }
    if (!types.has('integer') && !types.has('number')) return null
    return ['is a time as a number', `"type": "string", ${format}; or ${unix}`]
  }
}

export function hasFormat(parts: Parts, formats: readonly string[]): boolean {
  return parts.some(({ format }) => formats.includes(format as string))
}

const scalarTypes: ReadonlySet<unknown> = new Set(['boolean', 'integer', 'null', 'number', 'string'])

function isPlainScalar(schema: Json): boolean {
  return isSchemaObject(schema) && schema.$ref === undefined && isScalar(schema)
}

// Most members have such a type, and no members of their own.
function isScalar(part: SchemaObject): boolean {
  return scalarTypes.has(part.type)
}

const namelessKeywords = [
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'unevaluatedProperties',
]

function namelessOf(parts: Parts): Json[] {
  return parts.flatMap((part) => [
    ...namelessKeywords.flatMap((keyword) => part[keyword] ?? []).filter(isSchemaObject),
    ...namedSchemas(part.patternProperties).map(([, schema]) => schema),
  ])
}

/** The JSON types that a value may have; none where the schemas do not say. */
function typesOfParts(parts: Parts): ReadonlySet<string> {
  return new Set(
    parts.flatMap((part) => {
      const values = part.type === undefined ? valuesOf([part]) : []
      return values.length > 0 ? values.map(typeOfValue) : typesOf(part)
    }),
  )
}

function typeOfValue(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

function valuesOf(parts: Parts): Json[] {
  return parts.flatMap((part) =>
    part.const === undefined ? schemaList(part.enum) : [...schemaList(part.enum), part.const],
  )
}

function isTuple(parts: Parts): boolean {
  return parts.some(({ items, prefixItems, minItems, maxItems }) => {
    const hasFixedLength = typeof minItems === 'number' && minItems > 1 && minItems === maxItems
    return Array.isArray(items) || Array.isArray(prefixItems) || hasFixedLength
  })
}

export interface SuccessSchemas {
  readonly judged: readonly SuccessSchema[]
  /** The other schemas: why each is not judged. */
  readonly excluded: readonly string[]
}

/** The schema of a JSON body, and the status that it counts for: `200`, `2xx`, `default`. */
export interface SuccessSchema {
  readonly status: string
  readonly schema: Json
}

export function successSchemas(response: unknown): SuccessSchemas {
  const judged: SuccessSchema[] = []
  const excluded: string[] = []
  for (const { status, schema, mediaType } of successBodies(response)) {
    const reason = exclusionReason(schema, mediaType)
    if (reason !== null) excluded.push(`${status}: ${reason}`)
    else if (describesBody(schema)) judged.push({ status, schema: schema as Json })
  }
  return { judged, excluded }
}

function exclusionReason(schema: unknown, mediaType: string | null): string | null {
  if (mediaType === problemMediaType) return `${mediaType} has a format of its own`
  // To Fastify, `*/*` is every other media type, JSON first.
  if (mediaType !== null && mediaType !== '*/*' && !isJson(mediaType)) return `${mediaType} is not JSON`
  if (typeof schema === 'boolean' || schema === undefined || schema === null) return null
  // Standard Schema is what plain objects of other validators have in common.
  if (!isPlainObject(schema) || '~standard' in schema) return 'the schema is not a JSON Schema'
  if (mediaType === null && schema.type === 'string') return 'a string, which is sent as text'
  return null
}

function describesBody(schema: unknown): boolean {
  return isPlainObject(schema) && schema.type !== 'null' && constrains(schema as SchemaObject)
}

/** The breaches of all schemas of a route, each with the statuses that it concerns, and why schemas were not checked. */
export function routeBreaches(
  judged: readonly SuccessSchema[],
  verdictOf: (schema: Json) => SchemaVerdict,
): SchemaVerdict {
  const found = new Map<string, { readonly breach: ResponseBreach; readonly statuses: Set<string> }>()
  const unresolved: string[] = []
  for (const { status, schema } of judged) {
    const verdict = verdictOf(schema)
    for (const ref of verdict.unresolved) unresolved.push(`${status}: $ref ${ref} cannot be resolved`)
    for (const breach of verdict.breaches) {
      const key = `${breach.rule} ${breach.problem}`
      const statuses = found.get(key)?.statuses ?? new Set()
      found.set(key, { breach, statuses: statuses.add(status) })
    }
  }
  const breaches = [...found.values()].map(({ breach, statuses }) => ({
    ...breach,
    problem: `${[...statuses].join(', ')}: ${breach.problem}`,
  }))
  return { breaches, unresolved }
}
