import { exactJson, parseExact } from '../../json/exact-json.js'
import { joinPath } from '../../json/selection.js'
import { isObject } from '../../options.js'
import { isList } from '../../schema/field-names.js'
import type { ObjectShape, Shape } from '../../schema/shape.js'
import { isTwinned, twinName } from '../../schema/shape.js'

export interface Column {
  readonly path: readonly string[]
  readonly header: string
  /** Whether it is the string twin of a 64-bit integer. */
  readonly isTwin: boolean
}

interface CsvList {
  /** Member that has the items; `null` if the response is the array. */
  readonly member: string | null
  readonly columns: readonly Column[]
}

type NoColumns = Readonly<Record<'problem' | 'instead', string>>

const maxLevels = 4
const maxColumns = 1000

/** @param members names that the member with the items may have, the likeliest first; else it is the only array */
export function csvListOf(answer: Shape | undefined, members: readonly string[]): CsvList | NoColumns {
  if (answer === undefined) {
    const problem = 'CSV needs a response schema of 200 that this package can read'
    return { problem, instead: 'schema: { response: { 200: … } }' }
  }
  const list = listOf(answer, members)
  if (list === null) {
    const problem = 'CSV is for lists, and the response schema has no array of items'
    return { problem, instead: "formats: ['xml'], or config.lists.member with the name of the array" }
  }
  const item = objectIn(list.items)
  if (item === null) {
    const problem = 'CSV needs the fields of an item, and the response schema does not name all of them'
    return { problem, instead: "items: { type: 'object', properties: … } without additionalProperties" }
  }
  const columns = columnsOf(item, [], new Set())
  if (columns.length <= maxColumns) return { member: list.member, columns }
  return { problem: `the items have more than ${maxColumns} columns`, instead: 'a smaller schema, or no CSV' }
}

function listOf(
  answer: Shape,
  members: readonly string[],
): { readonly member: string | null; readonly items: Shape } | null {
  const top = itemsOf(answer)
  if (top !== null) return { member: null, items: top }
  const lists = (objectIn(answer, true)?.members ?? []).flatMap(({ name, shape }) => {
    const items = itemsOf(shape)
    return items === null ? [] : [{ member: name, items }]
  })
  const named = members.flatMap((name) => lists.find(({ member }) => member === name) ?? [])
  return named[0] ?? (lists.length === 1 ? (lists[0] ?? null) : null)
}

function itemsOf(shape: Shape): Shape | null {
  if (!isList(shape)) return null
  const alternatives = shape.kind === 'choice' ? shape.options.map((option) => option.shape) : [shape]
  const items = alternatives.flatMap((one) => (one.kind === 'array' ? [one.items] : []))
  return items.length === 1 ? (items[0] ?? null) : null
}

function objectIn(shape: Shape, orOpen = false): ObjectShape | null {
  if (shape.kind === 'choice') {
    const others = shape.options.map((option) => option.shape).filter(({ kind }) => kind !== 'null')
    return others.length === 1 && others[0] !== undefined ? objectIn(others[0], orOpen) : null
  }
  if (shape.kind !== 'object') return null
  const isOpen = shape.rest !== null || shape.patterns.length > 0 || shape.alsoRequired.length > 0
  return isOpen && !orOpen ? null : shape
}

function columnsOf(object: ObjectShape, path: readonly string[], above: ReadonlySet<ObjectShape>): Column[] {
  const within = new Set(above).add(object)
  return object.members.flatMap(({ name, shape }): Column[] => {
    const names = [...path, name]
    const inner = objectIn(shape)
    if (inner !== null && inner.members.length > 0 && !within.has(inner) && names.length < maxLevels)
      return columnsOf(inner, names, within)
    const column = columnOf(names, false)
    return isTwinned(shape) ? [column, columnOf([...path, twinName(name)], true)] : [column]
  })
}

function columnOf(path: readonly string[], isTwin: boolean): Column {
  return { path, header: joinPath(path), isTwin }
}

/** Writes records as CSV: `stringify` of csv-stringify/sync, with stringifyOptions. */
export type StringifyCsv = (
  records: readonly (readonly (string | null)[])[],
  options: ReturnType<typeof stringifyOptions>,
) => string

export function stringifyOptions(columns: readonly Column[]) {
  return {
    record_delimiter: '\r\n',
    quoted_match: [/^$|[\r\n]/],
    quoted_empty: columns.length === 1,
  }
}

export type Formulas = 'escape' | 'keep'

/** Returns the list in a response as CSV; `null` if it has none. */
export function csvOf(
  json: string,
  { member, columns }: CsvList,
  formulas: Formulas,
  stringify: StringifyCsv,
): string | null {
  const list = listIn(parseExact(json), member)
  if (list === null) return null
  const rows = list.map((item) =>
    columns.map(({ path }) => {
      const value = valueAt(item, path)
      if (value === null) return null
      const text = typeof value === 'object' ? (exactJson(value, false) ?? '') : String(value)
      return formulas === 'escape' ? withoutFormula(text) : text
    }),
  )
  return stringify([columns.map(({ header }) => header), ...rows], stringifyOptions(columns))
}

// OWASP, "CSV Injection": the characters that begin a formula, also in their full-width form. A number is not a formula.
const beginsFormula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const isNumber = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function withoutFormula(text: string): string {
  return beginsFormula.test(text) && !isNumber.test(text) ? `'${text}` : text
}

function listIn(response: unknown, member: string | null): readonly unknown[] | null {
  const list = member === null ? response : isObject(response) ? response[member] : null
  return Array.isArray(list) ? list : null
}

function valueAt(item: unknown, path: readonly string[]): unknown {
  let value = item
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return null
    value = value[name]
  }
  return value
}
