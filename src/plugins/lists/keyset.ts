import { checksOf, functionOf, integer, type OptionsOf, option, resolveOptions, text } from '../../options.js'
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
}

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
 * It compares row values, `(time, id) < (…)`, which PostgreSQL, MySQL, MariaDB and SQLite support. Not for databases without
 * them, such as SQL Server: write the condition from `request.page` there.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function keyset<Id extends bigint | string>(page: Page<Id>, given?: KeysetOptions): Keyset<Id> {
  const { id, time, first, placeholder } = resolveOptions('keyset', given, ...checksOf(options))
  const { afterId, beforeId, beforeTime, by } = page
  const orderBy =
    afterId !== undefined ? `${id} asc` : by === 'id' ? `${id} desc` : `${time} desc, ${id} desc`
  const slots = [placeholder(first), placeholder(first + 1)]
  if (afterId !== undefined) return { where: `${id} > ${slots[0]}`, orderBy, values: [afterId] }
  if (beforeTime !== undefined && beforeId !== undefined) {
    return { where: `(${time}, ${id}) < (${slots.join(', ')})`, orderBy, values: [beforeTime, beforeId] }
  }
  if (beforeTime !== undefined) return { where: `${time} < ${slots[0]}`, orderBy, values: [beforeTime] }
  if (beforeId !== undefined) return { where: `${id} < ${slots[0]}`, orderBy, values: [beforeId] }
  return { where: '1 = 1', orderBy, values: [] }
}
