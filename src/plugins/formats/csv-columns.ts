import { joinPath } from '../../json/selection.js'
import { isList } from '../../json-schema/field-names.js'
import type { ObjectShape, Shape } from '../../json-schema/shape.js'
import { isTwinned, twinName } from '../../json-schema/twins.js'

/** A column of CSV. */
export interface Column {
  /** The names that lead to its value in an item. */
  readonly path: readonly string[]
  /** The path with dots. */
  readonly header: string
  /** Whether it is the string twin of a 64-bit integer. */
  readonly isTwin: boolean
}

/** Why a route has no CSV. */
export interface NoColumns {
  readonly problem: string
  readonly instead: string
}

/** The items of a list in a response. */
export interface CsvList {
  /** Member that has the items; `null` if the response is the array. */
  readonly member: string | null
  readonly columns: readonly Column[]
}

const maxLevels = 4

const maxColumns = 1000

/** Where a response has its items. */
export interface ListPlace {
  /** Names that the member with the items may have, the likeliest first. */
  readonly members: readonly string[]
  /** Whether it may have another name, if there is one array only. */
  readonly isGuess: boolean
}

export function csvListOf(answer: Shape | undefined, place: ListPlace): CsvList | NoColumns {
  if (answer === undefined) return noSchema
  const list = listIn(answer, place)
  if (list === null) return noList
  const item = objectIn(list.items)
  if (item === null) {
    return {
      problem: 'CSV needs the fields of an item, and the response schema does not name all of them',
      instead: "items: { type: 'object', properties: … } without additionalProperties",
    }
  }
  const columns = columnsOf(item, [], new Set())
  if (columns.length <= maxColumns) return { member: list.member, columns }
  return { problem: `the items have more than ${maxColumns} columns`, instead: 'a smaller schema, or no CSV' }
}

const noSchema: NoColumns = {
  problem: 'CSV needs a response schema of 200 that this package can read',
  instead: 'schema: { response: { 200: … } }',
}

const noList: NoColumns = {
  problem: 'CSV is for lists, and the response schema has no array of items',
  instead: "formats: ['xml'], or config.formats.list with the name of the array",
}

function listIn(
  answer: Shape,
  { members, isGuess }: ListPlace,
): { readonly member: string | null; readonly items: Shape } | null {
  const top = itemsOf(answer)
  if (top !== null) return { member: null, items: top }
  const object = objectIn(answer, true)
  const lists = (object?.members ?? []).flatMap(({ name, shape }) => {
    const items = itemsOf(shape)
    return items === null ? [] : [{ member: name, items }]
  })
  const named = members.flatMap((name) => lists.find(({ member }) => member === name) ?? [])
  return named[0] ?? (isGuess && lists.length === 1 ? (lists[0] ?? null) : null)
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
