import { isWithin, type WideRange } from '../../../json/wide-range.js'
import { FaultCollector, outside, type WideRefusal } from './wide-faults.js'
import { type Found, type FoundInteger, foundInteger, foundItem, foundMember } from './wide-found.js'
import type { WideNode } from './wide-node.js'
import type { WidePlan } from './wide-plan.js'

/** A validated input with BigInts where 64-bit integers are declared. */
export interface WideApplied {
  readonly value: unknown
  /** What only the alternatives of the schema tell to be wrong; `null` for nothing. */
  readonly refusal: WideRefusal | null
}

type Holder = Record<string | number, unknown>

const deepest = 500

/**
 * Puts BigInts where 64-bit integers are declared, in place: the exact ones that `readWide` found, and those of the
 * Numbers that the validator put there. It may have removed, added and converted what it liked.
 */
export function applyWide(plan: WidePlan, value: unknown, found: Found | undefined): WideApplied {
  const holder = { value }
  const writer = new InputWriter(new FaultCollector(plan.place))
  writer.write(plan.root, holder, 'value', found, 0)
  return { value: holder.value, refusal: writer.faults.refusal() }
}

class InputWriter {
  readonly faults: FaultCollector
  readonly #path: (string | number)[] = []

  constructor(faults: FaultCollector) {
    this.faults = faults
  }

  write(
    declared: WideNode,
    holder: object,
    key: string | number,
    found: Found | undefined,
    depth: number,
  ): void {
    const value = (holder as Holder)[key]
    if (value === null || value === undefined || depth > deepest) return
    if (typeof value === 'string') {
      this.#text(declared, holder as Holder, key, value, foundInteger(found))
      return
    }
    const node = declared.choose === null ? declared : declared.choose(value, found)
    if (node === null) return
    if (typeof value === 'number') {
      if (node.range !== null)
        this.#number(node, node.range, holder as Holder, key, value, foundInteger(found))
    } else if (Array.isArray(value)) {
      this.#array(node, value, found, depth + 1)
    } else if (typeof value === 'object') {
      this.#object(node, value as Holder, found, depth + 1)
    }
  }

  #array(node: WideNode, items: readonly unknown[], found: Found | undefined, depth: number): void {
    if (node.itemAt === null) return
    for (let index = 0; index < items.length; index++) {
      const item = node.itemAt(index)
      if (item !== null) this.#step(item, items, index, foundItem(found, index), depth)
    }
  }

  #object(node: WideNode, object: Holder, found: Found | undefined, depth: number): void {
    for (const { name, node: member } of node.members) {
      if (Object.hasOwn(object, name)) this.#step(member, object, name, foundMember(found, name), depth)
    }
    if (node.nodeOf === null || ArrayBuffer.isView(object)) return
    for (const name of Object.keys(object)) {
      const other = node.names.has(name) ? null : node.nodeOf(name)
      if (other !== null) this.#step(other, object, name, foundMember(found, name), depth)
    }
  }

  #step(node: WideNode, holder: object, key: string | number, found: Found | undefined, depth: number): void {
    this.#path.push(key)
    this.write(node, holder, key, found, depth)
    this.#path.pop()
  }

  // A validator that made a text of the stand-in gets all digits into it.
  #text(
    { range }: WideNode,
    holder: Holder,
    key: string | number,
    value: string,
    integer: FoundInteger | undefined,
  ): void {
    if (range === null || integer === undefined || integer.exact === null) return
    if (value === String(integer.standIn)) holder[key] = String(integer.exact)
  }

  #number(
    node: WideNode,
    range: WideRange,
    holder: Holder,
    key: string | number,
    value: number,
    integer: FoundInteger | undefined,
  ): void {
    const known = integer?.standIn === value ? integer : undefined
    // The validator may have put another there: a default, or what it made of a boolean.
    if (known === undefined && !Number.isInteger(value)) return
    const exact = known === undefined ? BigInt(value) : known.exact
    if (exact !== null && isWithin(range, exact)) holder[key] = exact
    else if (node.certain) this.faults.add('invalid', this.#path, known?.fault || outside(range))
  }
}
