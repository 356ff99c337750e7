import { isDecimal } from '../../json/int64.js'
import { pointerToken } from '../../json/json-pointer.js'
import { numberName } from '../../json-schema/twins.js'
import { IssueList } from '../../problem/issues.js'
import type { ProblemIssue } from '../../problem/problem-error.js'
import { DistinctNumbers, type Exact, integerOfNumber, integerOfText } from './exact-integer.js'
import { looksLikeTwin, takeTwin } from './input-twins.js'
import type { Int64Option, Int64Part, Int64Place, Int64Places } from './int64-places.js'

/** The part of a request that an input is. */
export type InputPart = Exclude<ProblemIssue['in'], 'header'>

/** The 64-bit integers of one part of a request. */
export interface Int64Plan extends Int64Places {
  readonly part: InputPart
}

/** An input while it is read. */
export interface Int64Input {
  value: unknown
  readonly written: unknown
  /** Whether its integers came as texts: those of a path, a query or a form. */
  readonly isOfTexts: boolean
  /** The Numbers that stand for integers of a set; `null` where there are none. */
  distinct: DistinctNumbers | null
}

/** Why an input is refused. */
export interface InputRefusal {
  /** `mismatch`: integers differ from their string twins, and nothing else is wrong. */
  readonly kind: 'mismatch' | 'invalid'
  readonly issues: readonly ProblemIssue[]
}

export function prepareInput(plan: Int64Plan, input: Int64Input): InputRefusal | null {
  return new InputReader(plan, input, false).read()
}

export function putExactIntegers(plan: Int64Plan, input: Int64Input): InputRefusal | null {
  return new InputReader(plan, input, true).read()
}

export function needsPreparation(plan: Int64Places, json: string, isLong: boolean): boolean {
  // The name of a twin may be written with escapes.
  const mayHaveTwins = json.includes('_str"') || json.includes('\\u')
  return mayHaveTwins || (plan.hasSets && isLong) || (plan.isRecursive && json.length > maxDepth)
}

export function copyOf(value: unknown, depth = 0): unknown {
  if (!isContainer(value) || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1))
  // Not of instances of classes: they may be streams.
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return value
  const copy: Container = {}
  for (const name of Object.keys(value)) put(copy, name, copyOf(value[name], depth + 1))
  return copy
}

type Key = string | number
type Container = Record<Key, unknown>

/** Where a value of the input stands, and the text that it was written as, if that is known. */
interface Spot {
  readonly holder: Container
  readonly key: Key
  readonly written: unknown
}

interface Fault {
  readonly kind: InputRefusal['kind']
  readonly path: readonly Key[]
  readonly message: string
}

interface Replacement {
  readonly holder: Container
  readonly key: Key
  readonly value: bigint | string
}

const maxDepth = 500
// A schema that is an alternative of itself has no end of alternatives.
const maxNesting = 16
const maxFaults = 50

class InputReader {
  readonly #plan: Int64Plan
  readonly #input: Int64Input
  readonly #isValidated: boolean
  readonly #path: Key[] = []
  readonly #faults: Fault[] = []
  // Alternatives are distinguished by the Numbers, so those are replaced at the end.
  readonly #replacements: Replacement[] = []
  #isInSet = false
  #isInTwin = false
  #isInGroup = false

  constructor(plan: Int64Plan, input: Int64Input, isValidated: boolean) {
    this.#plan = plan
    this.#input = input
    this.#isValidated = isValidated
  }

  read(): InputRefusal | null {
    const holder = this.#input as Int64Input & Container
    this.#visit(this.#plan.root, { holder, key: 'value', written: this.#input.written }, 0)
    for (const { holder, key, value } of this.#replacements) holder[key] = value
    if (this.#faults.length === 0) return null
    const list = new IssueList()
    for (const fault of this.#faults) {
      if (list.isFull) break
      list.add(issueOf(this.#plan.part, fault))
    }
    const kind = this.#faults.every((fault) => fault.kind === 'mismatch') ? 'mismatch' : 'invalid'
    return { kind, issues: list.issues }
  }

  #visit(place: Int64Place, spot: Spot, depth: number, nesting = 0): void {
    const value = spot.holder[spot.key]
    if (typeof value === 'number') this.#number(place, spot, value)
    else if (typeof value === 'string') this.#text(place, spot, value)
    else if (!isContainer(value) || ArrayBuffer.isView(value)) return
    else if (depth > maxDepth) this.#fault('invalid', `must not nest deeper than ${maxDepth} levels`)
    else for (const part of place.parts) this.#members(place, part, value, spot.written, depth)
    if (nesting >= maxNesting) return
    for (const group of place.groups) {
      this.#group(group, value, (option) => this.#visit(option, spot, depth, nesting + 1))
    }
  }

  #members(place: Int64Place, part: Int64Part, value: Container, written: unknown, depth: number): void {
    if (Array.isArray(value)) this.#items(place, part, value, written, depth)
    else this.#properties(part, value, written, depth)
  }

  #items({ isSet }: Int64Place, part: Int64Part, items: unknown[], written: unknown, depth: number): void {
    const { tuple, items: others } = part
    if (others === null && tuple.length === 0) return
    const wasInSet = this.#isInSet
    this.#isInSet ||= isSet
    for (let index = 0; index < items.length; index++) {
      const item = index < tuple.length ? tuple[index] : others
      if (item) this.#step(item, items, index, written, depth)
    }
    this.#isInSet = wasInSet
  }

  #properties(part: Int64Part, object: Container, written: unknown, depth: number): void {
    for (const { name, place, twin, requiresTwin } of part.members) {
      if (twin !== null && this.#takes(object, name, twin, written, requiresTwin)) {
        this.#isInTwin = true
        this.#step(place, object, name, written, depth, twin)
        this.#isInTwin = false
      } else if (Object.hasOwn(object, name)) this.#step(place, object, name, written, depth)
    }
    if (part.others === null && part.patterns.length === 0) return
    for (const twin of Object.keys(object)) this.#takesOther(part, object, twin, written)
    for (const name of Object.keys(object)) {
      for (const other of othersOf(part, name)) this.#step(other, object, name, written, depth)
    }
  }

  #step(place: Int64Place, holder: object, key: Key, written: unknown, depth: number, shown = key): void {
    this.#path.push(shown)
    this.#visit(place, { holder: holder as Container, key, written: partOf(written, key) }, depth + 1)
    this.#path.pop()
  }

  #group(group: readonly Int64Option[], value: unknown, visit: (place: Int64Place) => void): void {
    const holding = holdingOf(group, value)
    const wasInGroup = this.#isInGroup
    this.#isInGroup = true
    const faults: Fault[] = []
    let isSound = false
    for (const { place } of holding.length === 0 && this.#isValidated ? group : holding) {
      const before = [this.#faults.length, this.#replacements.length] as const
      if (place !== null) visit(place)
      if (this.#faults.length === before[0]) isSound ||= holding.length > 0
      else {
        faults.push(...this.#faults.splice(before[0]))
        this.#replacements.length = before[1]
      }
    }
    if (!isSound) this.#faults.push(...faults)
    this.#isInGroup = wasInGroup
  }

  #number({ range, allowsNumbers }: Int64Place, { holder, key, written }: Spot, number: number): void {
    if (range === null) return
    if (this.#isValidated) {
      const given = alone(written)
      const text = typeof given === 'string' ? given : null
      const isOfText = text !== null && this.#input.isOfTexts && Number(text) === number
      const standIn = text === null ? undefined : this.#input.distinct?.get(text)
      const exact = isOfText ? integerOfText(text, range) : integerOfNumber(number, text, range, standIn)
      if ('integer' in exact) this.#replace(holder, key, exact.integer)
      else if (!allowsNumbers) this.#fault('invalid', exact.fault)
    } else if (this.#isInTwin) {
      this.#faultOf(integerOfText(typeof written === 'string' ? written : String(number), range))
    } else if (this.#isInSet && !this.#isInGroup && typeof written === 'string' && isDecimal(written)) {
      // Integers that are the same Number have to differ for the validator too.
      this.#input.distinct ??= new DistinctNumbers()
      holder[key] = this.#input.distinct.add(written)
    }
  }

  #text(place: Int64Place, { holder, key, written }: Spot, text: string): void {
    const { range, acceptsTwin, allowsText, allowsNull } = place
    if (this.#isValidated) {
      // A text that the validator made of a rounded Number gets all digits.
      const given = acceptsTwin ? alone(written) : undefined
      if (typeof given !== 'string' || given === text || !isDecimal(given)) return
      if (text === String(Number(given))) this.#replace(holder, key, given)
    } else if (range !== null && this.#input.isOfTexts && !allowsText && !(text === '' && allowsNull)) {
      // The validator may not make Numbers of texts by itself.
      if (this.#faultOf(integerOfText(text, range))) return
      holder[key] = Number(text)
    }
  }

  #replace(holder: Container, key: Key, value: bigint | string): void {
    this.#replacements.push({ holder, key, value })
  }

  #takes(object: Container, name: string, twin: string, written: unknown, stays: boolean): boolean {
    if (this.#isValidated || this.#plan.part !== 'body' || !Object.hasOwn(object, twin)) return false
    const given = Object.hasOwn(object, name) ? object[name] : undefined
    const result = takeTwin(given, object[twin], isContainer(written) ? partOf(written, name) : given)
    if ('kind' in result) {
      const isMismatch = result.kind === 'mismatch'
      const message = isMismatch ? `must be the same integer as ${name}` : notDigits
      this.#fault(result.kind, message, [twin, ...result.path])
      return false
    }
    put(object, name, result.value)
    if (isContainer(written)) put(written, name, object[twin])
    if (!stays) delete object[twin]
    return true
  }

  /** Takes the twin of a member that is not declared by its name. */
  #takesOther(part: Int64Part, object: Container, twin: string, written: unknown): void {
    const name = part.names.has(twin) ? null : numberName(twin)
    if (name === null || name === '' || part.names.has(name)) return
    if (!othersOf(part, name).some(({ acceptsTwin }) => acceptsTwin)) return
    const given = Object.hasOwn(object, name) ? object[name] : undefined
    if (looksLikeTwin(object[twin], given)) this.#takes(object, name, twin, written, false)
  }

  #faultOf(exact: Exact): boolean {
    if ('integer' in exact) return false
    this.#fault('invalid', exact.fault)
    return true
  }

  #fault(kind: Fault['kind'], message: string, within: readonly Key[] = []): void {
    const path = this.#faults.length < maxFaults ? [...this.#path, ...within] : []
    this.#faults.push({ kind, message, path })
  }
}

const notDigits = 'must be the integer as a string of decimal digits'

function holdingOf(group: readonly Int64Option[], value: unknown): readonly Int64Option[] {
  const holding = group.filter((option) => option.holds(value, true))
  return holding.length > 0 ? holding : group.filter((option) => option.holds(value, false))
}

function othersOf({ names, patterns, others }: Int64Part, name: string): Int64Place[] {
  const matching = patterns.filter(([pattern]) => pattern.test(name))
  if (matching.length > 0) return matching.map(([, place]) => place).filter((place) => place !== null)
  return others === null || names.has(name) ? [] : [others]
}

function partOf(written: unknown, key: Key): unknown {
  if (Array.isArray(written)) return written[key as number]
  if (isContainer(written)) return Object.hasOwn(written, key) ? written[key] : undefined
  // A validator can make an array of a single value.
  return key === 0 ? written : undefined
}

// A validator can make a single value of an array.
function alone(written: unknown): unknown {
  return Array.isArray(written) && written.length === 1 ? alone(written[0]) : written
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

// An assignment would set the prototype.
function put(object: Container, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

function issueOf(part: InputPart, { path, message }: Fault): ProblemIssue {
  return part === 'body'
    ? { in: part, pointer: path.map((key) => `/${pointerToken(String(key))}`).join(''), message }
    : { in: part, name: String(path[0] ?? ''), message }
}
