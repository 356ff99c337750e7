import {
  bareBreach,
  envelopeBreach,
  isOutcome,
  keyBreach,
  memberOf,
  pluralBreach,
  type ResponseBreach,
  type ResponseRule,
  type ResponseVocabulary,
} from './response-rules.js'
import { hasLocalOffset, isClockOrDuration, isDateTime, isDay, namedTime } from './times.js'

/** A breach by a payload. */
export type PayloadBreach = ResponseBreach<ResponseRule | 'utc'>

export const payloadBounds = Object.freeze({ depth: 6, itemsOfArray: 3, keys: 200, keyLength: 100 })

// Names as programs have them; other keys are probably data, such as ids, dates and codes.
const identifier = /^\p{L}[\p{L}\p{M}\p{N}_]*$/u

/** The payload is not changed, and nothing in it is called: objects with a `toJSON` and getters are not read. */
export function payloadBreaches(payload: unknown, vocabulary: ResponseVocabulary): PayloadBreach[] {
  const found = new Map<string, PayloadBreach>()
  try {
    new PayloadReader(vocabulary, (breach) => {
      if (!found.has(breach.rule)) found.set(breach.rule, breach)
    }).readTop(payload)
  } catch {
    // A revoked proxy throws; that is not a breach.
  }
  return [...found.values()]
}

// In seconds: September 2001.
const minUnixTime = 1e9

class PayloadReader {
  readonly #vocabulary: ResponseVocabulary
  readonly #add: (breach: PayloadBreach) => void
  #keysLeft: number = payloadBounds.keys

  constructor(vocabulary: ResponseVocabulary, add: (breach: PayloadBreach) => void) {
    this.#vocabulary = vocabulary
    this.#add = add
  }

  readTop(payload: unknown): void {
    if (typeof payload === 'number' || typeof payload === 'boolean' || typeof payload === 'bigint')
      this.#add(bareBreach(typeof payload))
    if (!isReadable(payload)) return
    if (Array.isArray(payload)) this.#add(bareBreach('array'))
    else this.#addAll(envelopeBreach(membersOf(payload).map(envelopePart)))
    this.#read(payload, '', 0)
  }

  #read(value: unknown, pointer: string, depth: number): void {
    if (depth >= payloadBounds.depth || !isReadable(value)) return
    if (Array.isArray(value)) {
      for (const item of value.slice(0, payloadBounds.itemsOfArray))
        this.#read(item, `${pointer}/*`, depth + 1)
      return
    }
    const members = membersOf(value)
    const siblings = new Set(members.map(([name]) => name))
    for (const [name, member] of members) {
      this.#keysLeft -= 1
      if (this.#keysLeft < 0) return
      const isName = name.length <= payloadBounds.keyLength && identifier.test(name)
      if (isName) this.#check(name, member, pointer, siblings)
      this.#read(
        member,
        isName || /^[_$]\w*$/.test(name) ? memberOf(pointer, name) : `${pointer}/*`,
        depth + 1,
      )
    }
  }

  #check(name: string, value: unknown, pointer: string, siblings: ReadonlySet<string>): void {
    // A key without lowercase letters is a code, such as a currency.
    if (/\p{Ll}/u.test(name)) this.#addAll(keyBreach(pointer, name, siblings, this.#vocabulary))
    if (Array.isArray(value) && !mayBeTuple(value))
      this.#addAll(pluralBreach(pointer, name, siblings, this.#vocabulary))
    this.#checkTime(name, value, pointer)
  }

  #checkTime(name: string, value: unknown, pointer: string): void {
    const time = this.#vocabulary.words.has(name) ? null : namedTime(name, this.#vocabulary)
    if (time === null || time === 'unix') return
    const place = memberOf(pointer, name)
    if (typeof value === 'number' || typeof value === 'bigint') {
      // A small number under `*_time` may be a duration.
      if (time === 'clock' && value < minUnixTime) return
      const instead = 'an RFC 3339 string; or the name in unixTimes, if it is Unix time'
      this.#add({ rule: 'dates', problem: `${place} is a time as a number`, instead })
    }
    if (typeof value !== 'string') return
    if (isDateTime(value)) {
      if (!hasLocalOffset(value)) return
      this.#add({ rule: 'utc', problem: `${place} has a local offset`, instead: 'UTC: Z' })
    } else if (!(time !== 'instant' && isDay(value)) && !(time === 'clock' && isClockOrDuration(value))) {
      const problem = `${place} is not an RFC 3339 date-time`
      this.#add({ rule: 'dates', problem, instead: '2026-01-31T12:00:00Z' })
    }
  }

  #addAll(breaches: readonly PayloadBreach[]): void {
    for (const breach of breaches) this.#add(breach)
  }
}

function membersOf(value: object): [string, unknown][] {
  const names = Object.keys(value).slice(0, payloadBounds.keys)
  return names.flatMap((name): [string, unknown][] => {
    const member: unknown = Object.getOwnPropertyDescriptor(value, name)?.value
    return member === undefined || typeof member === 'function' || typeof member === 'symbol'
      ? []
      : [[name, member]]
  })
}

function envelopePart([name, value]: [string, unknown]) {
  const isList = Array.isArray(value)
  return { name, isList, canWrap: typeof value === 'object' && value !== null, isState: !isOutcome(value) }
}

// Points, ranges and boxes are tuples under a singular name. An array of one number, or of five, is a list.
function mayBeTuple(value: readonly unknown[]): boolean {
  return value.length > 1 && value.length <= 4 && value.every((item) => typeof item === 'number')
}

function isReadable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !('toJSON' in value)
}
