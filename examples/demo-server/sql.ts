import type { Page } from 'fastify-conventions'
import type { SqlValue, Statement } from './database.js'
import type { Collection } from './declaration.js'

/** Names of the fields to read; `null` for all. */
export type FieldNames = readonly string[] | null

/** Values of fields, by name: a body that was validated, the filters of a list, a row to seed. */
export type Values = Readonly<Record<string, unknown>>

/**
 * One page of a list, in the order of its walk: newest first by id, newest first by time, or, after an id, oldest
 * first. It asks for one row more than the page shows, which tells whether there is a next page. Beside the named
 * fields it reads those that the next page and `Last-Modified` go by.
 */
export function selectPage(
  collection: Collection,
  page: Page,
  filters: Values,
  names: FieldNames,
): Statement {
  const values: SqlValue[] = []
  const conditions = filterConditions(collection, filters, values)
  const { condition, order } = walk(page, values)
  if (condition !== null) conditions.push(condition)
  values.push(page.fetch)
  // When they were modified is told of the list as a whole.
  const cursor = page.beforeTime === undefined ? ['id', 'updated_at'] : ['id', 'created_at', 'updated_at']
  const columns = columnList(collection, names === null ? null : [...names, ...cursor])
  return {
    text: `select ${columns} from ${collection.name}${where(conditions)} order by ${order} limit $${values.length}`,
    values,
  }
}

// It moves on even where the clock has not.
const nextVersion = `updated_at = greatest(date_trunc('milliseconds', now()), updated_at + interval '1 ms')`

/** How many rows the filters let through. */
export function countAll(collection: Collection, filters: Values): Statement {
  const values: SqlValue[] = []
  const conditions = filterConditions(collection, filters, values)
  return { text: `select count(*) as total from ${collection.name}${where(conditions)}`, values }
}

/** The named fields of the row of an id. */
export function selectOne(collection: Collection, id: bigint, names: FieldNames): Statement {
  const columns = columnList(collection, names)
  return { text: `select ${columns} from ${collection.name} where id = $1`, values: [id] }
}

/** A new row; columns without a value take the default of the table. */
export function insertRow(collection: Collection, row: Values): Statement {
  const names = Object.keys(row)
  const slots = names.map((_, index) => `$${index + 1}`)
  return {
    text: `insert into ${collection.name} (${names.join(', ')}) values (${slots.join(', ')}) returning ${columnList(collection)}`,
    values: names.map((name) => toSql(row[name])),
  }
}

/** Has the table given out this id, or a later one? Then no row will come to have it by itself. */
export function selectGivenOut(collection: Collection, id: bigint): Statement {
  const givenOut = 'last_value > $1 or (last_value = $1 and is_called)'
  return { text: `select ${givenOut} as given_out from ${collection.name}_id_seq`, values: [id] }
}

/** When a row was last written: it moves on with each write, so it names the version. */
export function selectVersion(collection: Collection, id: bigint): Statement {
  return { text: `select updated_at from ${collection.name} where id = $1`, values: [id] }
}

/**
 * Sets the given fields of a row, and no other: two updates of different fields at once both last. `updated_at`
 * moves on even where the clock has not.
 *
 * @param expected the version that may be overwritten; any where it is `undefined`
 */
export function updateRow(
  collection: Collection,
  id: bigint,
  changes: Values,
  expected: SqlValue | undefined,
): Statement {
  const names = Object.keys(changes)
  const slotOf = (name: string) => `$${names.indexOf(name) + 2}`
  const values: SqlValue[] = [id, ...names.map((name) => toSql(changes[name]))]
  const assignments = names.map((name) => `${name} = ${slotOf(name)}`)
  for (const [name, field] of Object.entries(collection.fields)) {
    if (field.resetBy === undefined || !names.includes(field.resetBy)) continue
    values.push(toSql(field.default))
    const changed = `${field.resetBy} is distinct from ${slotOf(field.resetBy)}`
    assignments.push(`${name} = case when ${changed} then $${values.length} else ${name} end`)
  }
  assignments.push(nextVersion)
  const condition = isVersion(values, expected)
  return {
    text: `update ${collection.name} set ${assignments.join(', ')} where id = $1${condition} returning ${columnList(collection)}`,
    values,
  }
}

/** Brings a row from one of some states into another; no row where it is in none of them. */
export function setStatus(
  collection: Collection,
  id: bigint,
  to: string,
  from: readonly string[],
): Statement {
  const slots = from.map((_, index) => `$${index + 3}`)
  return {
    text:
      `update ${collection.name} set status = $2, ${nextVersion} ` +
      `where id = $1 and status in (${slots.join(', ')}) returning ${columnList(collection)}`,
    values: [id, to, ...from],
  }
}

/**
 * Removes the row of an id, and tells that id if there was one.
 *
 * @param expected the version that may be removed; any where it is `undefined`
 */
export function deleteRow(collection: Collection, id: bigint, expected: SqlValue | undefined): Statement {
  const values: SqlValue[] = [id]
  const condition = isVersion(values, expected)
  return { text: `delete from ${collection.name} where id = $1${condition} returning id`, values }
}

function isVersion(values: SqlValue[], expected: SqlValue | undefined): string {
  return expected === undefined ? '' : ` and updated_at = $${values.push(expected)}`
}

function columnList(collection: Collection, names: FieldNames = null): string {
  const columns = ['id', ...Object.keys(collection.fields), 'created_at', 'updated_at']
  return columns.filter((column) => names === null || names.includes(column)).join(', ')
}

function filterConditions(collection: Collection, filters: Values, values: SqlValue[]): string[] {
  const anyCase = new Set(
    collection.unique?.flatMap(({ fields, ignoreCase }) => (ignoreCase === true ? fields : [])),
  )
  const given = collection.filters.filter((name) => filters[name] !== undefined)
  return given.map((name) => {
    values.push(toSql(filters[name]))
    const slot = `$${values.length}`
    return anyCase.has(name) ? `lower(${name}) = lower(${slot})` : `${name} = ${slot}`
  })
}

function walk(page: Page, values: SqlValue[]): { condition: string | null; order: string } {
  const slot = (value: SqlValue) => `$${values.push(value)}`
  const { afterId, beforeId, beforeTime } = page
  if (afterId !== undefined) return { condition: `id > ${slot(afterId)}`, order: 'id' }
  if (beforeTime !== undefined) {
    const order = 'created_at desc, id desc'
    if (beforeId === undefined) return { condition: `created_at < ${slot(beforeTime)}`, order }
    return { condition: `(created_at, id) < (${slot(beforeTime)}, ${slot(beforeId)})`, order }
  }
  return { condition: beforeId === undefined ? null : `id < ${slot(beforeId)}`, order: 'id desc' }
}

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
}

function toSql(value: unknown): SqlValue {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : (value as SqlValue)
}
