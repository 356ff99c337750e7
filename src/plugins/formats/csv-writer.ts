import { parseCharacters } from '../../json/parse-exact.js'
import { isObject } from '../../options.js'
import type { Column } from './csv-columns.js'

/** Writes records as CSV: `stringify` of csv-stringify/sync, with stringifyOptions. */
export type StringifyCsv = (
  records: readonly (readonly (string | null)[])[],
  options: ReturnType<typeof stringifyOptions>,
) => string

/** Returns options of csv-stringify for RFC 4180. */
export function stringifyOptions(columns: readonly Column[]) {
  return {
    record_delimiter: '\r\n',
    quoted_match: [/^$|[\r\n]/],
    quoted_empty: columns.length === 1,
  }
}

/** What to do with a text that a spreadsheet would take for a formula. */
export type Formulas = 'escape' | 'keep'

/** The list of a response, as JSON. */
export interface CsvSource {
  readonly json: string
  /** Member that has the items; `null` if the response is the array. */
  readonly member: string | null
}

export function csvOf(
  { json, member }: CsvSource,
  columns: readonly Column[],
  formulas: Formulas,
  stringify: StringifyCsv,
): string | null {
  // Numbers may be texts in it, so that they keep their characters.
  const list = listIn(parseCharacters(json), member)
  if (list === null) return null
  let plain: readonly unknown[] | null = null

  function jsonCell(value: object, index: number, path: readonly string[]): string {
    plain ??= listIn(JSON.parse(json), member) ?? []
    return jsonOf(valueAt(plain[index], path), value)
  }

  const rows = list.map((item, index) =>
    columns.map(({ path }) => {
      const value = valueAt(item, path)
      if (value === null) return null
      const text = typeof value === 'object' ? jsonCell(value, index, path) : String(value)
      return formulas === 'escape' ? withoutFormula(text) : text
    }),
  )
  return stringify([columns.map(({ header }) => header), ...rows], stringifyOptions(columns))
}

// OWASP, "CSV Injection": the characters that begin a formula, also in their full-width form. A number is none.
const beginsFormula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const isNumber = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Puts an apostrophe before a text that a spreadsheet would take for a formula. */
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

function jsonOf(value: unknown, exact: unknown): string {
  if (typeof value === 'number') return String(exact)
  if (Array.isArray(value)) {
    const items = exact as readonly unknown[]
    return `[${value.map((item, index) => jsonOf(item, items[index])).join(',')}]`
  }
  if (!isObject(value)) return JSON.stringify(value)
  const members = exact as Readonly<Record<string, unknown>>
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}:${jsonOf(one, members[name])}`)
    .join(',')}}`
}
