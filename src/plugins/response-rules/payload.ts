import type { Json, SchemaObject } from '../../schema/json-schema.js'
import { hasFormat, type ResponseBreach, schemaBreaches, type TimeFault } from './breaches.js'
import { hasLocalOffset, isClockOrDuration, isDateTime, isDay, type ResponseVocabulary } from './words.js'

export const payloadBounds = Object.freeze({ depth: 6, itemsOfArray: 3, keys: 200, keyLength: 100 })

/**
 * The first breach of each rule by a payload: those of a schema that describes it. The payload is not changed, and nothing in
 * it is called: objects with a `toJSON` and getters are not read.
 */
export function payloadBreaches(payload: unknown, vocabulary: ResponseVocabulary): ResponseBreach[] {
  const first = new Map<string, ResponseBreach>()
  try {
    const { breaches } = schemaBreaches(schemaFor(payload), {}, vocabulary, timeFault)
    // The values that a member may have are not known without a schema.
    for (const breach of breaches)
      if (breach.rule !== 'sex' && !first.has(breach.rule)) first.set(breach.rule, breach)
  } catch {
    // A revoked proxy throws; that is not a breach.
  }
  return [...first.values()]
}

// Names as programs have them, with a lowercase letter. Other keys are probably data: ids, dates, and codes such as `USD`.
const identifier = /^(?=.*\p{Ll})\p{L}[\p{L}\p{M}\p{N}_]*$/u
// In seconds: September 2001.
const minUnixTime = 1e9
const offsetFormat = 'date-time with an offset'

function schemaFor(payload: unknown): Json {
  let keysLeft: number = payloadBounds.keys

  function schemaOf(value: unknown, depth: number): Json {
    if (typeof value === 'string') return { type: 'string', format: formatOf(value) }
    // A small number under `*_time` may be a duration.
    if (typeof value === 'number' || typeof value === 'bigint')
      return { type: 'number', ...(value < minUnixTime && { format: 'duration' }) }
    if (typeof value !== 'object' || value === null) return { type: value === null ? 'null' : typeof value }
    if (ArrayBuffer.isView(value) || 'toJSON' in value) return {}
    const type = Array.isArray(value) ? 'array' : 'object'
    if (depth >= payloadBounds.depth) return { type }
    return { type, ...(Array.isArray(value) ? itemsOf(value, depth + 1) : membersOf(value, depth + 1)) }
  }

  function itemsOf(value: readonly unknown[], depth: number): SchemaObject {
    if (mayBeTuple(value)) return { items: [] }
    return {
      items: { anyOf: value.slice(0, payloadBounds.itemsOfArray).map((item) => schemaOf(item, depth)) },
    }
  }

  function membersOf(value: object, depth: number): SchemaObject {
    const properties: [name: string, schema: Json][] = []
    const others: Json[] = []
    for (const name of Object.keys(value).slice(0, payloadBounds.keys)) {
      const member: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
      if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue
      keysLeft -= 1
      if (keysLeft < 0) break
      const schema = schemaOf(member, depth)
      if (name.length > payloadBounds.keyLength || !identifier.test(name)) others.push(schema)
      else properties.push([name, isStatus(name, member) ? { type: 'string', enum: [member] } : schema])
    }
    return { properties: Object.fromEntries(properties), additionalProperties: { anyOf: others } }
  }

  return isSent.has(typeof payload) ? schemaOf(payload, 0) : {}
}

// A string at the top level is sent as text.
const isSent: ReadonlySet<string> = new Set(['object', 'number', 'bigint', 'boolean'])

// A state such as `paid` makes a resource of what looks like an envelope.
function isStatus(name: string, value: unknown): value is string {
  return name === 'status' && typeof value === 'string'
}

// Points, ranges and boxes are tuples under a singular name. An array of one number, or of five, is a list.
function mayBeTuple(value: readonly unknown[]): boolean {
  return value.length > 1 && value.length <= 4 && value.every((item) => typeof item === 'number')
}

function formatOf(text: string): string {
  if (isDateTime(text)) return hasLocalOffset(text) ? offsetFormat : 'date-time'
  if (isDay(text)) return 'date'
  return isClockOrDuration(text) ? 'time' : ''
}

const timeFault: TimeFault = (parts, types, formats) => {
  // A local offset is valid RFC 3339: it is noted, and stops nothing.
  if (hasFormat(parts, [offsetFormat])) return ['has a local offset', 'UTC: Z']
  if (hasFormat(parts, formats)) return null
  if (types.has('number'))
    return ['is a time as a number', 'an RFC 3339 string; or the name in unixTimes, if it is Unix time']
  return types.has('string') ? ['is not an RFC 3339 date-time', '2026-01-31T12:00:00Z'] : null
}
