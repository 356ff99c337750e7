import type { Json, SchemaObject, SchemaStore } from '../../schema/json-schema.js'
import {
  formsOf,
  isTuple,
  namelessOf,
  partsOf,
  propertiesOf,
  typesOfParts,
  valuesOf,
} from '../../schema/parts.js'
import { SchemaReader } from '../../schema/reader.js'
import {
  bareBreach,
  envelopeBreach,
  isOutcome,
  keyBreach,
  mayWrap,
  memberOf,
  nounOf,
  pluralBreach,
  type ResponseBreach,
  type ResponseVocabulary,
} from './response-rules.js'
import { formatsOf, namedTime } from './times.js'

/** What there is to say of a response schema. */
export interface SchemaVerdict {
  readonly breaches: readonly ResponseBreach[]
  /** References that cannot be resolved: the schemas behind them were not checked. */
  readonly unresolved: readonly string[]
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
  const seen = new Set<SchemaObject>()
  const pending: Node[] = [{ parts: partsOf(reader, [start]), pointer: '' }]
  for (const { parts, pointer } of pending) {
    const fresh = parts.filter((part) => !seen.has(part))
    for (const part of fresh) seen.add(part)
    const members = propertiesOf(parts)
    // Members of schemas that were all seen before have been judged.
    const unjudged = fresh.length === parts.length ? members : propertiesOf(fresh)
    for (const name of unjudged.keys()) {
      const member = partsOf(reader, members.get(name) ?? [])
      breaches.push(...memberBreaches(pointer, name, member, members, vocabulary))
      if (!member.every(isScalar)) pending.push({ parts: member, pointer: memberOf(pointer, name) })
    }
    for (const nameless of namelessOf(fresh))
      pending.push({ parts: partsOf(reader, [nameless]), pointer: `${pointer}/*` })
  }
  return { breaches: withoutRepeats(breaches), unresolved: [...unresolved] }
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
    ...sexBreaches(pointer, name, parts),
    ...dateBreaches(pointer, name, parts, vocabulary),
  ]
}

const maxShown = 5

const sexes = ['male', 'female', 'intersex', 'unknown']

function sexBreaches(pointer: string, name: string, parts: readonly SchemaObject[]): ResponseBreach[] {
  const noun = nounOf(name)
  if ((noun !== 'sex' && noun !== 'gender') || !mayBeWord(parts)) return []
  const values = [...new Set(valuesOf(parts).filter((value) => value !== null))].map(String)
  const others = values.filter((value) => !sexes.includes(value.toLowerCase()))
  const place = memberOf(pointer, name)
  const breach = (problem: string, instead: string): ResponseBreach[] => [
    { rule: 'sex', problem: `${place} ${problem}`, instead },
  ]
  if (noun === 'gender') {
    const isSex = values.length > 1 && others.length === 0
    return isSex ? breach('has the biological sexes as its values', 'sex') : []
  }
  const biologicalEnum = `"enum": ${JSON.stringify(sexes)}`
  if (values.length === 0) return breach('has no enum of the biological sexes', biologicalEnum)
  if (others.length > 0) {
    const shown = others.slice(0, maxShown).join(', ')
    return breach(`has values that are not a biological sex: ${shown}`, `gender, or ${biologicalEnum}`)
  }
  return []
}

// A boolean such as `same_sex` and an object are not checked.
function mayBeWord(parts: readonly SchemaObject[]): boolean {
  const types = typesOfParts(parts)
  return types.size === 0 || types.has('string') || types.has('integer') || types.has('number')
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
