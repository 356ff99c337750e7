import type { FastifySchema } from 'fastify'
import { type Check, type Checks, flag, integer, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import type { PageKey, PageRules } from './page.js'

/** Options of {@link lists}. */
export interface ListsOptions {
  /**
   * The mode of the checks of `reply.list()` (rows that do not lie beyond the cursor), of the response schema (members that
   * it would remove), and of query schemas that page by offset: `enforce` sends a 500 and stops the boot, `report` counts and reports, `off` checks neither. The
   * parameters of a request are checked in every mode.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Items on a page if the request has no `limit`.
   * @default 50, or `maxLimit` if that is less
   */
  readonly defaultLimit?: number
  /**
   * Maximum of items on a page; a larger `limit` is lowered to it.
   * @default 200
   */
  readonly maxLimit?: number
  /**
   * Form of ids: `int64` reads them as exact BigInts, `text` accepts any string of up to 200 characters.
   * @default 'int64'
   */
  readonly idFormat?: 'int64' | 'text'
  /**
   * Field of an item that holds its id.
   * @default 'id'
   */
  readonly id?: string
  /**
   * Field of an item with the time for `before_time`. It needs the full precision that the store sorts by: a `Date` has
   * milliseconds, so with a column of microseconds rows would be missing between two pages. Return such a time as text, or
   * limit the column to milliseconds.
   * @default 'created_at', or 'createdAt' if the `keyStyle` of `responseRules` is camelCase
   */
  readonly time?: string
  /**
   * The keys that the handler supports: `id` for `before_id` and `after_id`, `time` for `before_time`. A request without a
   * cursor pages by the first. Parameters of other keys are a 400, and not in the OpenAPI document.
   * @default ['id', 'time']
   */
  readonly by?: readonly PageKey[]
  /**
   * Whether the handler supports `include_total=true`; if not, that is a 400.
   * @default true
   */
  readonly total?: boolean
}

/** Options of a route, under `config.lists`. An object makes the route a list, even if it is empty. */
export interface ListsRouteOptions extends ListsOptions {
  /**
   * Member of the response that holds the items.
   * @default the last literal segment of the path, in the `keyStyle` of `responseRules`
   */
  readonly member?: string
}

/** The resolved options of a list route. */
export interface ListRules extends PageRules {
  /** Whether a page that does not lie beyond its cursor is refused, reported or ignored. */
  readonly mode: Mode
  /** Field of an item that holds its id. */
  readonly id: string
  /** Field of an item that holds its time. */
  readonly time: string
  /** Member of the response that holds the items. */
  readonly member: string
}

const keys: Check<readonly PageKey[]> = (label, received) => {
  const given = listOf(oneOf('id', 'time'))(label, received)
  return given.length > 0 ? given : invalid(label, "'id', 'time' or both", received)
}

export const listsChecks: Checks<ListsOptions> = {
  mode: oneOf(...modes),
  defaultLimit: integer(1, 10_000),
  maxLimit: integer(1, 10_000),
  idFormat: oneOf('int64', 'text'),
  id: text(),
  time: text(),
  by: keys,
  total: flag,
}

export const listsRouteChecks: Checks<ListsRouteOptions> = { ...listsChecks, member: text() }

export const listsDefaults: Required<ListsOptions> = {
  mode: 'enforce',
  defaultLimit: 50,
  maxLimit: 200,
  idFormat: 'int64',
  id: 'id',
  time: 'created_at',
  by: ['id', 'time'],
  total: true,
}

/** The default of `time` in each key style. */
export const timeNames = { snake_case: listsDefaults.time, camelCase: 'createdAt' } as const

/** The limits that the route's own schema declares. `config.lists` overrides them. */
export function declaredLimits(
  schema: FastifySchema | undefined,
  options: Required<ListsOptions>,
): ListsOptions {
  const { querystring, query } = (schema ?? {}) as {
    readonly querystring?: Limited
    readonly query?: Limited
  }
  const { default: declared, maximum } = (querystring ?? query)?.properties?.limit ?? {}
  return {
    maxLimit: typeof maximum === 'number' ? maximum : options.maxLimit,
    defaultLimit: typeof declared === 'number' ? declared : options.defaultLimit,
  }
}

interface Limited {
  readonly properties?: {
    readonly limit?: { readonly default?: unknown; readonly maximum?: unknown }
  }
}

/**
 * Lowers an inherited default limit to the maximum.
 *
 * @throws FST_CONV_OPTION_INVALID if `given` has a default limit above the maximum
 */
export function withinMaximum<Rules extends Required<ListsOptions>>(
  label: string,
  given: ListsOptions,
  rules: Rules,
): Rules {
  const { defaultLimit, maxLimit } = rules
  if (defaultLimit <= maxLimit) return rules
  if (given.defaultLimit !== undefined)
    invalid(`${label}.defaultLimit`, `at most maxLimit (${maxLimit})`, defaultLimit)
  return Object.freeze({ ...rules, defaultLimit: maxLimit })
}
