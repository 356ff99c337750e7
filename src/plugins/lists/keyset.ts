import { functionOf, integer, type OptionsOf, option, optional, resolveOptions, text } from '../../options.js'
import type { Page } from './page.js'

const column = text(
  "a column such as 'id', 'orders.id' or '\"orderId\"'",
  /^(?:\w+|"[^"\0]+"|`[^`\0]+`)(?:\.(?:\w+|"[^"\0]+"|`[^`\0]+`))*$/,
)

const options = {
  /**
   * Column of the id, in SQL syntax: `id`, `orders.id`, `"orderId"`.
   * @default 'id'
   */
  id: option(column, 'id'),
  /**
   * Column of the time, in SQL syntax.
   * @default 'created_at'
   */
  time: option(column, 'created_at'),
  /**
   * Position of the first placeholder, if the statement has placeholders before it.
   * @default 1
   */
  first: option(integer(1), 1),
  /**
   * Returns the placeholder of a position; `() => '?'` for MySQL and SQLite.
   * @default (position) => `$${position}`
   */
  placeholder: option(
    functionOf<(position: number) => string>('a function of a position'),
    (position) => `$${position}`,
  ),
  /** The template tag of a query builder, such as the `sql` of Kysely and of Drizzle: its fragments take the place of text. */
  sql: optional(functionOf<SqlTag<unknown>>('a template tag such as `sql` of Kysely or Drizzle')),
}

type SqlTag<Fragment> = (strings: TemplateStringsArray, ...values: never[]) => Fragment

/** Options of {@link keyset}. */
export interface KeysetOptions extends OptionsOf<typeof options> {}

/** The parts of the `select` of a page. */
export interface Keyset<Id extends bigint | string = bigint> {
  /** Condition for `where`; `1 = 1` if the page has no cursor. */
  readonly where: string
  /** Columns and directions for `order by`. */
  readonly orderBy: string
  /** Values of the placeholders, in their order. */
  readonly values: readonly (Id | string)[]
}

/** The parts of the `select` of a page, as fragments of a query builder: they have the values. */
export interface KeysetFragments<Fragment> {
  readonly where: Fragment
  readonly orderBy: Fragment
}

/**
 * Returns the SQL of a page, for all cursors: `where`, `order by` and the values of the placeholders. Use `page.fetch` as the
 * limit.
 *
 * ```ts
 * const { where, orderBy, values } = keyset(request.page)
 * const rows = await db.query(`select * from orders where ${where} order by ${orderBy} limit ${request.page.fetch}`, values)
 * return reply.list(rows)
 * ```
 *
 * With the template tag of a query builder, `where` and `orderBy` are its fragments, for `.where()` and `.orderBy()`:
 *
 * ```ts
 * const { where, orderBy } = keyset(request.page, { sql: sql<SqlBool> })   // Kysely; `{ sql }` with Drizzle
 * ```
 *
 * It compares row values, `(time, id) < (…)`, which PostgreSQL, MySQL, MariaDB and SQLite support. Not for databases without
 * them, such as SQL Server: write the condition from `request.page` there.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function keyset<Fragment>(
  page: Page<bigint | string>,
  given: KeysetOptions & { readonly sql: SqlTag<Fragment> },
): KeysetFragments<Fragment>
export function keyset<Id extends bigint | string>(page: Page<Id>, given?: KeysetOptions): Keyset<Id>
export function keyset(
  page: Page<bigint | string>,
  given?: KeysetOptions,
): Keyset<bigint | string> | KeysetFragments<unknown> {
  const { id, time, first, placeholder, sql } = resolveOptions('keyset', given, options)
  const { afterId, by } = page
  const orderBy =
    afterId !== undefined ? `${id} asc` : by === 'id' ? `${id} desc` : `${time} desc, ${id} desc`
  const [condition, ...values] = conditionOf(page, id, time)
  if (sql !== undefined)
    return { where: sql(template(condition), ...(values as never[])), orderBy: sql(template([orderBy])) }
  const where = condition.reduce((text, part, index) => text + placeholder(first + index - 1) + part)
  return { where, orderBy, values }
}

function conditionOf<Id extends bigint | string>(
  { afterId, beforeId, beforeTime }: Page<Id>,
  id: string,
  time: string,
): [readonly string[], ...(Id | string)[]] {
  if (afterId !== undefined) return [[`${id} > `, ''], afterId]
  if (beforeTime !== undefined && beforeId !== undefined)
    return [[`(${time}, ${id}) < (`, ', ', ')'], beforeTime, beforeId]
  if (beforeTime !== undefined) return [[`${time} < `, ''], beforeTime]
  if (beforeId !== undefined) return [[`${id} < `, ''], beforeId]
  return [['1 = 1']]
}

function template(strings: readonly string[]): TemplateStringsArray {
  return Object.assign([...strings], { raw: strings })
}
