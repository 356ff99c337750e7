import { longRun } from '../../json/exact-json.js'
import { type Int64Range, isDecimal, parseInt64 } from '../../json/int64.js'
import { IssueList } from '../../problem/issues.js'
import type { ProblemIssue } from '../../problem/problem-error.js'
import type { Match } from '../../schema/alternatives.js'
import { pointerToken } from '../../schema/json-schema.js'
import {
  anything,
  containsInt64,
  isInt64,
  isTwinned,
  leavesOf,
  numberName,
  type ObjectShape,
  type Shape,
} from '../../schema/shape.js'
import { looksLikeTwin, type TwinFault, takeTwin } from './twin-value.js'

export interface Input {
  readonly part: Exclude<ProblemIssue['in'], 'header'>
  readonly shape: Shape
  /** The part with its long numbers as text, or as it was before validation; `undefined` where all Numbers are exact. */
  readonly written: unknown
  /** Whether its integers came as text: those of a path, a query or a form. */
  readonly isOfTexts: boolean
  /** Numbers that stand for integers of a set, by their digits. */
  readonly standIns: Map<string, number>
}

export interface InputResult {
  readonly changes: readonly (() => void)[]
  readonly issues: readonly ProblemIssue[]
  /** Whether integers differ from their string twins, and nothing else is wrong. */
  readonly isMismatch: boolean
  /** Whether a twin names a member that parsers of JSON refuse. */
  readonly isPoisoned: boolean
}

/** Takes the string twins of a body and makes Numbers of digits in texts, before the validator sees them. */
export function takeTwins(input: Input, holder: object, key: string): InputResult {
  return new InputReader(input, false).read(holder as Container, key)
}

/** Puts BigInts in the places of declared 64-bit integers. Validators do not support BigInts, so this runs after validation. */
export function putIntegers(input: Input, holder: object, key: string): InputResult {
  return new InputReader(input, true).read(holder as Container, key)
}

type Key = string | number
type Container = Record<Key, unknown>
type Shapes = readonly Shape[]

/** Where a value of the input stands, and the text that it was written as, if that is known. */
interface Spot {
  readonly holder: Container
  readonly key: Key
  readonly written: unknown
}

const maxDepth = 500

/** Follows all shapes that a value may have, together: each value is visited once. */
class InputReader {
  readonly #input: Input
  readonly #isValidated: boolean
  readonly #path: Key[] = []
  readonly #changes: (() => void)[] = []
  readonly #issues = new IssueList()
  #isMismatch = true
  #isPoisoned = false
  #isInSet = false
  readonly #taken = new Set<number>()
  #free = 2 ** 53

  constructor(input: Input, isValidated: boolean) {
    this.#input = input
    this.#isValidated = isValidated
  }

  read(holder: Container, key: string): InputResult {
    const { shape, written } = this.#input
    this.#visit([shape], { holder, key, written })
    const { issues } = this.#issues
    return { changes: this.#changes, issues, isMismatch: this.#isMismatch, isPoisoned: this.#isPoisoned }
  }

  #visit(shapes: Shapes, spot: Spot): void {
    const value = spot.holder[spot.key]
    if (typeof value === 'string') {
      if (this.#isValidated) this.#text(shapesFor(shapes), spot, value)
      else if (this.#input.isOfTexts) this.#convert(shapesFor(shapes), spot, value)
      return
    }
    const held = shapesFor(shapes, value)
    if (typeof value === 'number') {
      if (this.#isValidated) this.#number(held, spot, value)
      else if (this.#isInSet && held.some(isInt64)) this.#distinguish(spot, value)
    } else if (isContainer(value) && !ArrayBuffer.isView(value)) {
      if (this.#path.length <= maxDepth) this.#parts(held, value, spot.written)
      else this.#fault(`must not nest deeper than ${maxDepth} levels`)
    }
  }

  #parts(shapes: Shapes, value: Container, written: unknown): void {
    if (Array.isArray(value)) {
      const wasInSet = this.#isInSet
      this.#isInSet ||= shapes.some((shape) => shape.kind === 'array' && shape.isSet)
      const [only] = shapes
      const items = shapes.length === 1 && only?.kind === 'array' ? [only.items] : null
      for (let index = 0; index < value.length; index++)
        this.#step(items ?? itemsAt(shapes, index), value as unknown as Container, index, written)
      this.#isInSet = wasInSet
      return
    }
    const objects = shapes.filter((shape) => shape.kind === 'object')
    if (!this.#isValidated)
      for (const name of Object.keys(value)) this.#takeTwin(objects, value, name, written)
    const [only] = objects
    if (shapes.length > 1 || only === undefined || only.rest !== null || only.patterns.length > 0) {
      for (const name of Object.keys(value)) this.#step(membersAt(shapes, name), value, name, written)
      return
    }
    // Most bodies have one schema.
    for (const [name, inner] of int64Members(only))
      if (Object.hasOwn(value, name)) this.#step(inner, value, name, written)
  }

  #step(shapes: Shapes, holder: Container, key: Key, written: unknown): void {
    if (!shapes.some(containsInt64)) return
    this.#path.push(key)
    this.#visit(shapes, { holder, key, written: writtenAt(written, key) })
    this.#path.pop()
  }

  #number(shapes: Shapes, { holder, key, written }: Spot, number: number): void {
    let fault: string | null = null
    for (const shape of shapes) {
      if (shape.kind !== 'integer' || shape.int64 === null) continue
      const integer = this.#integerOf(number, alone(written), shape.int64)
      if (typeof integer === 'bigint') {
        this.#change(holder, key, integer)
        return
      }
      fault ??= integer
    }
    if (fault !== null && !shapes.some(isOtherNumber)) this.#fault(fault)
  }

  /** The integer that a Number was before it was rounded, or why there is none. */
  #integerOf(number: number, written: unknown, range: Int64Range): bigint | string {
    if (Object.is(number, -0)) return 'must be 0, not -0'
    const { isOfTexts, standIns } = this.#input
    if (typeof written === 'string' && written.length >= longRun) {
      // Most long numbers are plain digits. A BigInt is compared faster than its text.
      const exact = parseInt64(written, range)
      if (exact !== null && Number(exact) === number) return exact
    }
    // Another Number was not made of the text: the app has put it there.
    const isOfText =
      typeof written === 'string' && (Number(written) === number || standIns.get(written) === number)
    if (isOfText && (isOfTexts || written.length >= longRun)) return integerOf(written, range)
    if (Number.isSafeInteger(number)) return number < 0 && range.min === 0n ? outside(range) : BigInt(number)
    const isRounded = Number.isInteger(number) && number > Number(range.min) && number < Number(range.max)
    return isRounded ? 'must be written in plain digits, as it is beyond 2^53' : outside(range)
  }

  #text(shapes: Shapes, { holder, key, written }: Spot, text: string): void {
    const ranges = shapes.flatMap((shape) => (shape.kind === 'integer' ? (shape.int64 ?? []) : []))
    const [range] = ranges
    if (range === undefined) return
    const given = alone(written)
    if (shapes.some(allowsText)) {
      // A text that the validator made of a rounded Number gets all digits.
      if (typeof given === 'string' && isDecimal(given) && text === String(Number(given)))
        this.#change(holder, key, given)
    } else if (this.#input.isOfTexts && !(text === '' && shapes.some(({ nullable }) => nullable))) {
      const integers = ranges.map((one) => integerOf(text, one))
      const integer = integers.find((one) => typeof one === 'bigint')
      if (integer === undefined) this.#fault(integers[0] as string)
      else this.#change(holder, key, integer)
    }
  }

  #change(holder: Container, key: Key, value: unknown): void {
    this.#changes.push(() => put(holder, key, value))
  }

  /** Makes a Number of digits, for a validator that converts no text. It is exact again after validation. */
  #convert(shapes: Shapes, { holder, key }: Spot, text: string): void {
    if (!shapes.some(allowsText) && shapes.some(isInt64) && isDecimal(text))
      this.#change(holder, key, Number(text))
  }

  #takeTwin(objects: readonly ObjectShape[], object: Container, twin: string, written: unknown): void {
    const name = numberName(twin)
    if (name === null || name === '' || this.#input.part !== 'body') return
    const shape = membersAt(objects, name).find(isTwinned)
    const isNamed = objects.some((one) => memberOf(one, name) !== undefined)
    const given = Object.hasOwn(object, name) ? object[name] : undefined
    if (shape === undefined || objects.some((one) => isTwinned(memberOf(one, twin) ?? anything))) return
    if (!isNamed && (objects.some((one) => memberOf(one, twin)) || !looksLikeTwin(object[twin], given)))
      return
    if (name === '__proto__' || (name === 'prototype' && this.#path.at(-1) === 'constructor')) {
      this.#isPoisoned = true
      this.#fault(`must not be the twin of ${name}`, [twin])
      return
    }
    const result = takeTwin(given, object[twin], writtenAt(written, name), rangeIn(shape))
    if ('fault' in result) {
      this.#isMismatch &&= result.fault === 'mismatch'
      this.#fault(messageOf(result, name, rangeIn(shape)), [twin, ...result.path])
      return
    }
    const digits = object[twin]
    const isRequired = objects.some((one) => requires(one, twin))
    this.#changes.push(() => {
      put(object, name, result.value)
      if (isContainer(written)) put(written, name, digits)
      if (!isRequired) delete object[twin]
    })
  }

  /** Puts different Numbers in the place of different integers of a set, because a validator compares Numbers. */
  #distinguish({ holder, key, written: digits }: Spot, number: number): void {
    if (typeof digits !== 'string' || !isDecimal(digits)) return
    const { standIns } = this.#input
    if (!standIns.has(digits)) {
      const standIn = this.#taken.has(number) ? this.#freeNumber(Math.sign(number)) : number
      standIns.set(digits, standIn)
      this.#taken.add(standIn)
    }
    const standIn = standIns.get(digits)
    if (standIn !== number) this.#change(holder, key, standIn)
  }

  /** Returns an exact integer that the set does not have: nearer to zero than any it stands for, because of `maximum`. */
  #freeNumber(sign: number): number {
    do this.#free -= 1
    while (this.#taken.has(sign * this.#free))
    return sign * this.#free
  }

  #fault(message: string, within: readonly Key[] = []): void {
    if (within.length === 0) this.#isMismatch = false
    const path = [...this.#path, ...within]
    const { part } = this.#input
    this.#issues.add(
      part === 'body'
        ? { in: part, pointer: path.map((key) => `/${pointerToken(String(key))}`).join(''), message }
        : { in: part, name: String(path[0] ?? ''), message },
    )
  }
}

function integerOf(text: string, range: Int64Range): bigint | string {
  if (!isDecimal(text)) return 'must be an integer in plain decimal digits'
  return parseInt64(text, range) ?? outside(range)
}

function outside({ min, max }: Int64Range): string {
  return `must be an integer from ${min} to ${max}`
}

function messageOf({ fault }: TwinFault, name: string, range: Int64Range): string {
  if (fault === 'range') return outside(range)
  return fault === 'mismatch'
    ? `must be the same integer as ${name}`
    : 'must be the integer as a string of decimal digits'
}

/** The shapes that a value has: of alternatives, those that it matches; all if it matches none, or is not given. */
function shapesFor(shapes: Shapes, value?: unknown): Shapes {
  if (shapes.length === 1 && shapes[0]?.kind !== 'choice') return shapes
  const found = new Set<Shape>()
  const add = (shape: Shape): void => {
    if (found.has(shape)) return
    found.add(shape)
    if (shape.kind !== 'choice') return
    const held = value === undefined ? [] : shape.options.filter(({ matches }) => mayMatch(matches, value))
    for (const option of held.length > 0 ? held : shape.options) add(option.shape)
  }
  for (const shape of shapes) add(shape)
  return [...found].filter(({ kind }) => kind !== 'choice')
}

// An alternative that cannot be tested may hold.
function mayMatch(matches: Match, value: unknown): boolean {
  try {
    return matches(value)
  } catch {
    return true
  }
}

function allowsText({ kind }: Shape): boolean {
  return kind === 'text' || kind === 'anything'
}

function isOtherNumber(shape: Shape): boolean {
  return shape.kind === 'integer' ? shape.int64 === null : otherNumbers.has(shape.kind)
}

const otherNumbers: ReadonlySet<string> = new Set(['number', 'anything', 'constant'])

function rangeIn(shape: Shape): Int64Range {
  const integer = leavesOf([shape]).find(isInt64) as Extract<Shape, { kind: 'integer' }>
  return integer.int64 as Int64Range
}

function itemsAt(shapes: Shapes, index: number): Shapes {
  return shapes.flatMap((shape) => {
    if (shape.kind === 'tuple') return shape.items[index] ?? anything
    return shape.kind === 'array' ? shape.items : shape.kind === 'anything' ? shape : []
  })
}

function membersAt(shapes: Shapes, name: string): Shapes {
  return shapes.flatMap((shape) => {
    if (shape.kind !== 'object') return shape.kind === 'anything' ? shape : []
    const declared = memberOf(shape, name) ?? []
    const matching = shape.patterns.filter(({ pattern }) => pattern.test(name)).map((one) => one.shape)
    const named = [declared, matching].flat()
    return named.length > 0 ? named : (shape.rest ?? anything)
  })
}

const membersOf = new WeakMap<ObjectShape, readonly (readonly [name: string, shapes: Shapes])[]>()

function int64Members(object: ObjectShape): readonly (readonly [name: string, shapes: Shapes])[] {
  const known = membersOf.get(object)
  if (known !== undefined) return known
  const members = object.members.filter(({ shape }) => containsInt64(shape))
  const named = members.map(({ name, shape }) => [name, [shape]] as const)
  membersOf.set(object, named)
  return named
}

function memberOf({ members }: ObjectShape, name: string): Shape | undefined {
  return members.find((member) => member.name === name)?.shape
}

function requires({ members, alsoRequired }: ObjectShape, name: string): boolean {
  return alsoRequired.includes(name) || members.some((member) => member.name === name && member.required)
}

function writtenAt(written: unknown, key: Key): unknown {
  if (isContainer(written)) return Object.hasOwn(written, key) ? written[key] : undefined
  // A validator can make an array of a single value.
  return key === 0 ? written : undefined
}

// A validator can make a single value of an array.
function alone(written: unknown): unknown {
  return Array.isArray(written) ? written[0] : written
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

// An assignment would set the prototype.
function put(object: Container, name: Key, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}
