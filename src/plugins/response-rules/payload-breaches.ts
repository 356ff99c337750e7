import { isOutcome } from './envelopes.js'
import {
  bareBreach,
  envelopeBreach,
  keyBreach,
  memberOf,
  pluralBreach,
  type ResponseBreach,
  type ResponseRule,
  type ResponseVocabulary,
} from './response-rules.js'
import { namedTime } from './time-names.js'
import { hasLocalOffset, isClockOrDuration, isDateTime, isDay } from './time-text.js'

/** What a payload breaks; `utc` is a remark that stops nothing: a date-time that is right, but not in UTC. */
export type PayloadBreach = ResponseBreach<ResponseRule | 'utc'>

/** How far a payload is looked into. */
export const payloadBounds = Object.freeze({ depth: 6, itemsOfArray: 3, keys: 200, keyLength: 100 })

// Names that somebody wrote into a program; others are likely to be data, such as ids, dates and codes.
const identifier = /^\p{L}[\p{L}\p{M}\p{N}_]*$/u

/**
 * Holds a payload against the rules that need no schema; at most one breach of each. It is read, never changed, and
 * nothing in it is called: objects with a `toJSON` (but dates) and getters are not looked into. Names that are no
 * identifiers are taken for data: they are not judged, and stay out of what is told. Never throws.
 */
export function payloadBreaches(payload: unknown, vocabulary: ResponseVocabulary): PayloadBreach[] {
  const found = new Map<string, PayloadBreach>()
  try {
    new PayloadReader(vocabulary, (breach) => {
      if (!found.has(breach.rule)) found.set(breach.rule, breach)
    }).readTop(payload)
  } catch {
    // A proxy that refuses to be looked at is no breach.
  }
  return [...found.values()]
}

class PayloadReader {
  readonly #vocabulary: ResponseVocabulary
  readonly #tell: (breach: PayloadBreach) => void
  #keysLeft: number = payloadBounds.keys

  constructor(vocabulary: ResponseVocabulary, tell: (breach: PayloadBreach) => void) {
    this.#vocabulary = vocabulary
    this.#tell = tell
  }

  readTop(payload: unknown): void {
    if (typeof payload === 'number' || typeof payload === 'boolean' || typeof payload === 'bigint')
      this.#tell(bareBreach(typeof payload))
    if (!isReadable(payload)) return
    if (Array.isArray(payload)) this.#tell(bareBreach('array'))
    else this.#tellAll(envelopeBreach(membersOf(payload).map(envelopePart)))
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
      if (isName) this.#judge(name, member, pointer, siblings)
      this.#read(
        member,
        isName || /^[_$]\w*$/.test(name) ? memberOf(pointer, name) : `${pointer}/*`,
        depth + 1,
      )
    }
  }

  #judge(name: string, value: unknown, pointer: string, siblings: ReadonlySet<string>): void {
    // Without a lowercase letter it is a code, such as a currency.
    if (/\p{Ll}/u.test(name)) this.#tellAll(keyBreach(pointer, name, siblings, this.#vocabulary))
    if (Array.isArray(value) && !mayBeTuple(value))
      this.#tellAll(pluralBreach(pointer, name, siblings, this.#vocabulary))
    this.#judgeTime(name, value, pointer)
  }

  #judgeTime(name: string, value: unknown, pointer: string): void {
    const time = this.#vocabulary.words.has(name) ? null : namedTime(name, this.#vocabulary)
    if (time === null || time === 'unix') return
    const place = memberOf(pointer, name)
    if (typeof value === 'number' || typeof value === 'bigint') {
      // A small number under `*_time` may be how long it takes.
      if (time === 'clock' && value < 1e9) return
      const instead = 'an RFC 3339 string; or the name in unixTimes, if it is Unix time'
      this.#tell({ rule: 'dates', problem: `${place} is a time as a number`, instead })
    }
    if (typeof value !== 'string') return
    if (isDateTime(value)) {
      if (!hasLocalOffset(value)) return
      this.#tell({ rule: 'utc', problem: `${place} has a local offset`, instead: 'UTC: Z' })
    } else if (!(time !== 'instant' && isDay(value)) && !(time === 'clock' && isClockOrDuration(value))) {
      const problem = `${place} is not an RFC 3339 date-time`
      this.#tell({ rule: 'dates', problem, instead: '2026-01-31T12:00:00Z' })
    }
  }

  #tellAll(breaches: readonly PayloadBreach[]): void {
    for (const breach of breaches) this.#tell(breach)
  }
}

/** The members that JSON will have, without those whose value a getter makes up. */
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
  return { name, isList, isRoomy: typeof value === 'object' && value !== null, isState: !isOutcome(value) }
}

// Points, ranges and boxes; ids are a list.
function mayBeTuple(value: readonly unknown[]): boolean {
  return value.length > 1 && value.length <= 4 && value.every((item) => typeof item === 'number')
}

function isReadable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !('toJSON' in value)
}
