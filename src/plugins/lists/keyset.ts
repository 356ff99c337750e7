import { type Checks, functionOf, integer, resolveOptions, text } from '../../options.js'
import type { Page } from './page.js'

/** Options of {@link keyset}. */
export interface KeysetOptions {
  /**
   * Column of the id, as SQL writes it: `id`, `orders.id`, `"orderId"`.
   * @default 'id'
   */
  readonly id?: string
  /**
   * Column of the time, as SQL writes it.
   * @default 'created_at'
   */
  readonly time?: string
  /**
   * Position of the first placeholder, where others stand before it.
   * @default 1
   */
  readonly first?: number
  /**
   * Writes the placeholder of a position; `() => '?'` for MySQL and SQLite.
   * @default (position) => `$${position}`
   */
  readonly placeholder?: (position: number) => string
}

/** The parts of a `select` that a page stands for. */
export interface Keyset<Id extends bigint | string = bigint> {
  /** Condition for `where`; `1 = 1` where the page has no cursor. */
  readonly where: string
  /** Columns and directions for `order by`. */
  readonly orderBy: string
  /** Values of the placeholders, in their order. */
  readonly values: readonly (Id | string)[]
}

const column = text(
  "a column such as 'id', 'orders.id' or '\"orderId\"'",
  /^(?:\w+|"[^"\0]+"|`[^`\0]+`)(?:\.(?:\w+|"[^"\0]+"|`[^`\0]+`))*$/,
)

const checks: Checks<KeysetOptions> = {
  id: column,
  time: column,
  first: integer(1),
  placeholder: functionOf('a function of a position'),
}

const defaults: Required<KeysetOptions> = {
  id: 'id',
  time: 'created_at',
  first: 1,
  placeholder: (position) => `$${position}`,
}

/**
 * The SQL of a page: `where`, `order by` and the values, for each cursor that a list may be asked with. Values are
 * placeholders, never text. Give `page.fetch` as the limit.
 *
 * ```ts
 * const { where, orderBy, values } = keyset(request.page)
 * const rows = await db.query(`select * from orders where ${where} order by ${orderBy} limit ${request.page.fetch}`, values)
 * return reply.list(rows)
 * ```
 *
 * The comparison of `(time, id)` is that of row values, which PostgreSQL, MySQL, MariaDB and SQLite know. Not for
 * stores without it, such as SQL Server: write the condition from `request.page` there.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function keyset<Id extends bigint | string>(page: Page<Id>, options?: KeysetOptions): Keyset<Id> {
  const { id, time, first, placeholder } = resolveOptions('keyset', options, checks, defaults)
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
