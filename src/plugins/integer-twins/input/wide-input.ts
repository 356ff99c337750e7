import { unmark } from '../../../json/unmark.js'
import { looksLikeTwin, withTwin } from './given-twins.js'
import { type ExactDigits, ScalarReader } from './scalar-input.js'
import { FaultCollector, type WideRefusal } from './wide-faults.js'
import { type Found, type FoundItems, type FoundMembers, withFound } from './wide-found.js'
import type { WideNode, WideTwin } from './wide-node.js'
import type { WidePlan } from './wide-plan.js'

/** An input that is ready for a validator that knows no BigInt. */
export interface WideRead {
  readonly value: unknown
  /** The long integers of it, for `applyWide`. */
  readonly found: Found | undefined
  /** What is wrong with it; `null` for nothing. */
  readonly refusal: WideRefusal | null
}

/** Whatever has the value under a key. */
type Holder = Record<string | number, unknown>

/**
 * Makes an input ready for validation, in place: a Number stands where a 64-bit integer is declared, and string twins
 * are taken into what they are twins of. No marked string is left in it, whether it is refused or not.
 *
 * @param digits where the digits of long integers are
 */
export function readWide(plan: WidePlan, value: unknown, digits: ExactDigits = {}): WideRead {
  const holder = { value }
  const reader = new InputReader(plan, digits)
  const found = reader.read(plan.root, holder, 'value', 0)
  unmark(holder, reader.marks)
  return { value: holder.value, found, refusal: reader.faults.refusal() }
}

const deepest = 500
const twinEnd = '_str'

class InputReader {
  readonly faults: FaultCollector
  readonly #scalars: ScalarReader
  readonly #hasTwins: boolean
  readonly #path: (string | number)[] = []

  constructor({ place, source }: WidePlan, digits: ExactDigits) {
    this.faults = new FaultCollector(place)
    this.#scalars = new ScalarReader(source, digits, (message) =>
      this.faults.add('invalid', this.#path, message),
    )
    this.#hasTwins = source === 'json'
  }

  /** How many marked strings are left. */
  get marks(): number {
    return this.#scalars.marks
  }

  /** Reads what a holder has under a key, and puts in its place what the validator is to see. */
  read(node: WideNode, holder: object, key: string | number, depth: number): Found | undefined {
    const value = (holder as Holder)[key]
    if (typeof value === 'number' || typeof value === 'string') {
      // A single value may be one item of a declared array: Ajv can make it one.
      const target = node.range === null ? node.itemAt?.(0) : node
      return target ? this.#scalars.read(target, holder as Holder, key, value) : undefined
    }
    if (typeof value !== 'object' || value === null) return undefined
    if (depth >= deepest) {
      this.faults.add('invalid', this.#path, `must not nest deeper than ${deepest} levels`)
      return undefined
    }
    return Array.isArray(value)
      ? this.#array(node, value, depth + 1)
      : this.#object(node, value as Holder, depth + 1)
  }

  #array(node: WideNode, items: readonly unknown[], depth: number): Found | undefined {
    let within: FoundItems | undefined
    const outermost = node.unique && this.#scalars.beginUnique()
    for (let index = 0; index < items.length; index++) {
      const item = node.itemAt === null ? aloneIn(items, node) : node.itemAt(index)
      const found = item === null ? undefined : this.#step(item, items, index, depth, index)
      if (found === undefined) continue
      within ??= []
      within[index] = found
    }
    if (outermost) this.#scalars.endUnique()
    return within
  }

  #object(node: WideNode, object: Holder, depth: number): Found | undefined {
    let within: FoundMembers | undefined
    for (const { name, node: member, twin } of node.members) {
      const from = twin !== null && this.#takesTwin(object, name, twin) ? twin.name : name
      if (Object.hasOwn(object, name)) {
        within = withFound(within, name, this.#step(member, object, name, depth, from))
      }
    }
    if (node.nodeOf === null || ArrayBuffer.isView(object)) return within
    const twins = this.#takeTwinsOfOthers(node, node.nodeOf, object)
    for (const name of Object.keys(object)) {
      const other = node.names.has(name) ? null : node.nodeOf(name)
      if (other === null) continue
      within = withFound(within, name, this.#step(other, object, name, depth, twins.get(name) ?? name))
    }
    return within
  }

  #step(
    node: WideNode,
    holder: object,
    key: string | number,
    depth: number,
    from: string | number,
  ): Found | undefined {
    this.#path.push(from)
    const found = this.read(node, holder, key, depth)
    this.#path.pop()
    return found
  }

  /** The twins among names that are not declared, by the names that they are twins of. */
  #takeTwinsOfOthers(
    { names }: WideNode,
    nodeOf: (name: string) => WideNode | null,
    object: Holder,
  ): ReadonlyMap<string, string> {
    const taken = new Map<string, string>()
    for (const key of Object.keys(object)) {
      const name = key.endsWith(twinEnd) && !names.has(key) ? key.slice(0, -twinEnd.length) : ''
      if (name === '' || names.has(name) || !nodeOf(name)?.twinned) continue
      if (this.#takesTwin(object, name, { name: key, certain: false, demanded: false })) taken.set(name, key)
    }
    return taken
  }

  /** Takes a twin, if there is one, into what it is the twin of. */
  #takesTwin(object: Holder, name: string, { name: key, certain, demanded }: WideTwin): boolean {
    if (!this.#hasTwins || !Object.hasOwn(object, key)) return false
    const twin = object[key]
    const value = Object.hasOwn(object, name) ? object[name] : undefined
    if (!certain && !looksLikeTwin(twin, value)) return false
    const result = withTwin(value, twin, this.#scalars.written)
    if ('kind' in result) {
      this.faults.add(result.kind, [...this.#path, key, ...result.path], messageOf(result.kind, name))
      return false
    }
    this.#scalars.marks += result.marks
    define(object, name, result.value)
    if (!demanded) delete object[key]
    return true
  }
}

// Ajv can make an item of an array of one.
function aloneIn(items: readonly unknown[], node: WideNode): WideNode | null {
  return items.length === 1 && node.range !== null ? node : null
}

function messageOf(kind: WideRefusal['kind'], name: string): string {
  return kind === 'mismatch'
    ? `must be the same integer as ${name}`
    : 'must be the integer as a string of decimal digits'
}

// An assignment would set the prototype.
function define(object: Holder, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}
