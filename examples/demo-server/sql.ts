import { keyset, type Page } from 'fastify-conventions'
import type { Owner } from './caller.js'
import type { SqlValue, Statement } from './database.js'
import type { Collection, Field } from './declaration.js'

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
  owner: Owner,
  page: Page<bigint | string>,
  filters: Values,
  names: FieldNames,
): Statement {
  const values: SqlValue[] = []
  const conditions = [
    ...filterConditions(collection, filters, values),
    ...ownerConditions(collection, owner, values),
  ]
  const walk = keyset(page, { first: values.length + 1 })
  values.push(...walk.values, page.fetch)
  conditions.push(walk.where)
  // When they were modified is told of the list as a whole.
  const cursor = page.beforeTime === undefined ? ['id', 'updated_at'] : ['id', 'created_at', 'updated_at']
  const columns = columnList(collection, names === null ? null : [...names, ...cursor])
  return {
    text: `select ${columns} from ${collection.name}${where(conditions)} order by ${walk.orderBy} limit $${values.length}`,
    values,
  }
}

/** The next `updated_at` of a row: it moves on even where the clock has not. */
export const nextVersion = `greatest(date_trunc('milliseconds', now()), updated_at + interval '1 ms')`

/** How many rows of an owner the filters let through. */
export function countAll(collection: Collection, owner: Owner, filters: Values): Statement {
  const values: SqlValue[] = []
  const conditions = [
    ...filterConditions(collection, filters, values),
    ...ownerConditions(collection, owner, values),
  ]
  return { text: `select count(*) as total from ${collection.name}${where(conditions)}`, values }
}

/** The named fields of the row of an id; no row where it belongs to somebody else. */
export function selectOne(collection: Collection, id: bigint, names: FieldNames, owner: Owner): Statement {
  const columns = columnList(collection, names)
  const { condition, values } = ownRow(collection, id, owner)
  return { text: `select ${columns} from ${collection.name} where ${condition}`, values }
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
export function selectVersion(collection: Collection, id: bigint, owner: Owner): Statement {
  return selectOne(collection, id, ['updated_at'], owner)
}

/** The row of an id, which nobody else writes before the transaction ends. */
export function lockOne(collection: Collection, id: bigint, owner: Owner): Statement {
  const { text, values = [] } = selectOne(collection, id, null, owner)
  return { text: `${text} for no key update`, values }
}

/**
 * Sets the given fields of a row, and no other: two updates of different fields at once both last. `updated_at` moves on,
 * even where the clock has not, unless the fields have these values already.
 */
export function updateRow(collection: Collection, id: bigint, changes: Values): Statement {
  const { name: table, fields } = collection
  const names = Object.keys(changes)
  const slotOf = (name: string) => `$${names.indexOf(name) + 2}`
  const values: SqlValue[] = [id, ...names.map((name) => toSql(changes[name]))]
  const differs = (name: string) => `${name} is distinct from ${slotOf(name)}${castOf(fields[name])}`
  const assignments = names.map((name) => `${name} = ${slotOf(name)}`)
  for (const [name, field] of Object.entries(fields)) {
    if (field.resetBy === undefined || !names.includes(field.resetBy)) continue
    values.push(toSql(field.default))
    assignments.push(`${name} = case when ${differs(field.resetBy)} then $${values.length} else ${name} end`)
  }
  const changed = names.map(differs).join(' or ') || 'false'
  assignments.push(`updated_at = case when ${changed} then ${nextVersion} else updated_at end`)
  return {
    text: `update ${table} set ${assignments.join(', ')} where id = $1 returning ${columnList(collection)}`,
    values,
  }
}

/** The precision that times are kept with; a finer one would differ from itself. */
function castOf(field: Field | undefined): string {
  return field?.schema.format === 'date-time' ? '::timestamptz(3)' : ''
}

/** Brings a row from one of some states into another; no row where it is in none of them, or belongs to somebody else. */
export function setStatus(
  collection: Collection,
  id: bigint,
  to: string,
  from: readonly string[],
  owner: Owner,
): Statement {
  const { condition, values } = ownRow(collection, id, owner)
  const slotOf = (value: string) => `$${values.push(value)}`
  return {
    text:
      `update ${collection.name} set status = ${slotOf(to)}, updated_at = ${nextVersion} ` +
      `where ${condition} and status in (${from.map(slotOf).join(', ')}) returning ${columnList(collection)}`,
    values,
  }
}

/**
 * Removes the row of an id, and tells that id if there was one.
 *
 * @param expected the version that may be removed; any where it is `undefined`
 * @param owner whose it may be
 */
export function deleteRow(
  collection: Collection,
  id: bigint,
  expected: SqlValue | undefined,
  owner: Owner,
): Statement {
  const { condition, values } = ownRow(collection, id, owner)
  const version = expected === undefined ? '' : ` and updated_at = $${values.push(expected)}`
  return { text: `delete from ${collection.name} where ${condition}${version} returning id`, values }
}

/** The condition that a row is that of an id and of an owner, with its values. */
export function ownRow(
  collection: Collection,
  id: bigint,
  owner: Owner,
): { readonly condition: string; readonly values: SqlValue[] } {
  const values: SqlValue[] = [id]
  return { condition: ['id = $1', ...ownerConditions(collection, owner, values)].join(' and '), values }
}

function ownerConditions(collection: Collection, owner: Owner, values: SqlValue[]): string[] {
  return owner === 'all' ? [] : [belongsTo(collection, `$${values.push(owner)}`)]
}

function belongsTo({ owner: { field, of } }: Collection, slot: string): string {
  return of === undefined
    ? `${field} = ${slot}`
    : `${field} in (select id from ${of.name} where ${belongsTo(of, slot)})`
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

function where(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
}

function toSql(value: unknown): SqlValue {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : (value as SqlValue)
}
