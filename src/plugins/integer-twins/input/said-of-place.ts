import {
  type Alternative,
  type SchemaPlace,
  type SchemaReader,
  tupleOf,
} from '../../../json-schema/input-schema.js'

/** The schemas of one place of an input: those that hold for certain, and those that hold in some alternative. */
export interface Said {
  readonly firm: readonly SchemaPlace[]
  readonly loose: readonly SchemaPlace[]
}

/** The same, with all that they say through other schemas. */
export interface SaidWhole extends Said {
  /** The alternatives that those offer that hold for certain. */
  readonly groups: readonly (readonly Alternative[])[]
}

/** Follows what the schemas say through others. */
export function wholeOf(reader: SchemaReader, said: Said): SaidWhole {
  const certain = reader.flatten(said.firm)
  const loose = new Set<SchemaPlace>()
  const left = [...said.loose, ...optionsOf(certain.groups)]
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    if (loose.has(place)) continue
    const flat = reader.flatten([place])
    for (const part of flat.parts) loose.add(part)
    left.push(...optionsOf(flat.groups))
  }
  const { parts: firm, groups } = certain
  return { firm, loose: without(loose, firm), groups }
}

/** What is said of a member. */
export function saidOfMember(reader: SchemaReader, whole: SaidWhole, name: string): Said {
  return saidBy(whole, (part) => reader.ofMember(part, name))
}

/** What is said of the items of an array: of the first ones each, and of all others. */
export function saidOfItems(reader: SchemaReader, whole: SaidWhole): { first: Said[]; others: Said } {
  const length = Math.max(0, ...everyPart(whole).map((part) => tupleOf(part.schema).length))
  const of = (index: number): Said => saidBy(whole, (part) => reader.ofItem(part, index))
  return { first: Array.from({ length }, (_, index) => of(index)), others: of(length) }
}

/** All parts, certain or not. */
export function everyPart({ firm, loose }: Said): SchemaPlace[] {
  return [...firm, ...loose]
}

function saidBy({ firm, loose }: Said, of: (part: SchemaPlace) => readonly SchemaPlace[]): Said {
  const certain = [...new Set(firm.flatMap(of))]
  return { firm: certain, loose: without(new Set(loose.flatMap(of)), certain) }
}

function without(places: ReadonlySet<SchemaPlace>, others: readonly SchemaPlace[]): SchemaPlace[] {
  return [...places].filter((place) => !others.includes(place))
}

function optionsOf(groups: readonly (readonly Alternative[])[]): SchemaPlace[] {
  return groups.flatMap((group) => group.map((option) => option.place)).filter((place) => place !== null)
}
