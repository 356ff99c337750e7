import { BoundedCache } from '../../bounded-cache.js'
import {
  isSchemaObject,
  type Json,
  type SchemaObject,
  type SchemaStore,
  schemaText,
} from '../../json-schema/json-schema.js'
import {
  formsOf,
  isTuple,
  namelessOf,
  partsOf,
  propertiesOf,
  typesOfParts,
  valuesOf,
} from '../../json-schema/parts.js'
import { isPlain, SchemaReader } from '../../json-schema/reader.js'
import { numberName } from '../../json-schema/twins.js'
import {
  bareBreach,
  envelopeBreach,
  isOutcome,
  keyBreach,
  mayWrap,
  memberOf,
  pluralBreach,
  type ResponseBreach,
  type ResponseVocabulary,
} from './response-rules.js'
import { sexBreaches } from './sex-rule.js'
import { formatsOf, namedTime } from './times.js'

/** What there is to say of a response schema. */
export interface SchemaVerdict {
  readonly breaches: readonly ResponseBreach[]
  /** References that cannot be resolved: the schemas behind them were not checked. */
  readonly unresolved: readonly string[]
  /** The names of all members that were checked. */
  readonly names: ReadonlySet<string>
}

interface Node {
  readonly parts: readonly SchemaObject[]
  readonly pointer: string
}

/** A subschema that is used twice is reported once, at its shortest place. Never throws, whatever the schema is. */
export function schemaBreaches(
  schema: Json,
  shared: SchemaStore,
  vocabulary: ResponseVocabulary,
): SchemaVerdict {
  const unresolved = new Set<string>()
  const reader = new SchemaReader(shared, { onUnresolved: (reference) => unresolved.add(reference) })
  const start = reader.absolute(schema, schema)
  const breaches = formsOf(reader, start).flatMap((form) => topLevelBreaches(form, reader))
  const flawless = flawlessMembers(vocabulary)
  const names = new Set<string>()
  const seen = new Set<SchemaObject>()
  const pending: Node[] = [{ parts: partsOf(reader, [start]), pointer: '' }]
  for (const { parts, pointer } of pending) {
    const fresh = parts.filter((part) => !seen.has(part))
    for (const part of fresh) seen.add(part)
    const members = propertiesOf(parts)
    // Members of schemas that were all seen before have been judged.
    const unjudged = fresh.length === parts.length ? members : propertiesOf(fresh)
    for (const name of unjudged.keys()) {
      names.add(name)
      const declared = members.get(name) ?? []
      const key = scalarKey(name, declared)
      if (key !== null && flawless.get(key) === true) continue
      const member = partsOf(reader, declared)
      const found = memberBreaches(pointer, name, member, members, vocabulary)
      breaches.push(...found)
      if (key !== null && found.length === 0) flawless.set(key, true)
      if (!member.every(isScalar)) pending.push({ parts: member, pointer: memberOf(pointer, name) })
    }
    for (const nameless of namelessOf(fresh))
      pending.push({ parts: partsOf(reader, [nameless]), pointer: `${pointer}/*` })
  }
  return { breaches: withoutRepeats(breaches), unresolved: [...unresolved], names }
}

// By the words of the rules. Most members of an API, such as `id` and `created_at`, stand in many schemas.
const flawlessByVocabulary = new WeakMap<ResponseVocabulary, BoundedCache<string, true>>()

function flawlessMembers(vocabulary: ResponseVocabulary): BoundedCache<string, true> {
  const known = flawlessByVocabulary.get(vocabulary) ?? new BoundedCache<string, true>(2000)
  flawlessByVocabulary.set(vocabulary, known)
  return known
}

/** Name and schema of a scalar of which the rules find the same in every object; `null` for any other member. */
function scalarKey(name: string, declared: readonly Json[]): string | null {
  const [schema] = declared
  // The twin of a number is judged by what stands beside it.
  if (declared.length !== 1 || !isSchemaObject(schema) || !isScalar(schema) || numberName(name) !== null)
    return null
  if (!isPlain(schema)) return null
  const text = schemaText(schema)
  return text === null ? null : `${name} ${text}`
}

const scalarTypes: ReadonlySet<unknown> = new Set(['boolean', 'integer', 'null', 'number', 'string'])

// Of most members: there is nothing in them.
function isScalar(part: SchemaObject): boolean {
  return scalarTypes.has(part.type)
}

function topLevelBreaches(form: readonly SchemaObject[], reader: SchemaReader): ResponseBreach[] {
  const types = typesOfParts(form)
  const [bare] = [...types].filter((type) => type !== 'null')
  if (bare !== undefined && !types.has('object')) return [bareBreach(bare)]
  const declaredMembers = propertiesOf(form)
  if (![...declaredMembers.keys()].some(mayWrap)) return []
  const members = [...declaredMembers].map(([name, declared]) => {
    const member = partsOf(reader, declared)
    const memberTypes = typesOfParts(member)
    const isList = memberTypes.has('array')
    const values = valuesOf(member)
    const isState = values.length > 0 && !values.every(isOutcome)
    return { name, isList, isState, canWrap: memberTypes.size === 0 || isList || memberTypes.has('object') }
  })
  return envelopeBreach(members)
}

function memberBreaches(
  pointer: string,
  name: string,
  parts: readonly SchemaObject[],
  siblings: { has(name: string): boolean },
  vocabulary: ResponseVocabulary,
): ResponseBreach[] {
  const types = typesOfParts(parts)
  const isList = types.has('array') && [...types].every((type) => type === 'array' || type === 'null')
  return [
    ...keyBreach(pointer, name, siblings, vocabulary),
    ...(isList && !isTuple(parts) ? pluralBreach(pointer, name, siblings, vocabulary) : []),
    ...sexBreaches(pointer, name, parts, vocabulary),
    ...dateBreaches(pointer, name, parts, vocabulary),
  ]
}

function dateBreaches(
  pointer: string,
  name: string,
  parts: readonly SchemaObject[],
  vocabulary: ResponseVocabulary,
): ResponseBreach[] {
  const time = vocabulary.words.has(name) ? null : namedTime(name, vocabulary)
  // Listed values are words, whatever the name: `best_time: "morning"`.
  if (time === null || time === 'unix' || valuesOf(parts).some((value) => value !== null)) return []
  const types = typesOfParts(parts)
  const formats = formatsOf[time]
  const place = memberOf(pointer, name)
  if (types.has('string') && !parts.some((part) => formats.some((format) => part.format === format))) {
    const problem = `${place} is a time without "format": ${formats.map((format) => `"${format}"`).join(' or ')}`
    return [{ rule: 'dates', problem, instead: `"format": "${formats[0]}"` }]
  }
  if (!types.has('integer') && !types.has('number')) return []
  const [suffix] = vocabulary.unixTimes.filter((pattern) => pattern.startsWith('_'))
  const unix = suffix === undefined ? 'the name in unixTimes' : `a name in ${suffix}, if it is Unix time`
  const instead = `"type": "string", "format": "${formats[0]}"; or ${unix}`
  return [{ rule: 'dates', problem: `${place} is a time as a number`, instead }]
}

function withoutRepeats(breaches: readonly ResponseBreach[]): ResponseBreach[] {
  return [...new Map(breaches.map((breach) => [`${breach.rule} ${breach.problem}`, breach])).values()]
}
