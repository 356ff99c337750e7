import type { FastifySchema } from 'fastify'
import { type Check, type Checks, flag, integer, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import type { PageKey, PageRules } from './page.js'

/** Options of {@link lists}. */
export interface ListsOptions {
  /**
   * What happens to a page of `reply.list()` that does not lie beyond its cursor, and to a response schema that would drop
   * the items: `enforce` answers 500 and stops the boot, `report` counts and reports, `off` checks neither. The
   * parameters of a request are checked in every mode.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Items on a page where the request names no `limit`.
   * @default 50, or `maxLimit` where that is less
   */
  readonly defaultLimit?: number
  /**
   * Most items on a page; a larger `limit` is lowered to it.
   * @default 200
   */
  readonly maxLimit?: number
  /**
   * Form of ids: `int64` reads them as exact BigInt, `text` takes any string of up to 200 characters.
   * @default 'int64'
   */
  readonly idFormat?: 'int64' | 'text'
  /**
   * Field of an item that holds its id.
   * @default 'id'
   */
  readonly id?: string
  /**
   * Field of an item that holds the time that `before_time` goes by. It has to have every digit that the store sorts
   * by: a `Date` ends at milliseconds, so over a column with microseconds rows would be left out between two pages.
   * Give such a time as text, or have the column end at milliseconds too.
   * @default 'created_at', or 'createdAt' where the `keyStyle` of `responseRules` is camelCase
   */
  readonly time?: string
  /**
   * The keys that the handler can walk by: `id` for `before_id` and `after_id`, `time` for `before_time`. A request
   * without a cursor goes by the first. Parameters of other keys are a 400, and not in the OpenAPI document.
   * @default ['id', 'time']
   */
  readonly by?: readonly PageKey[]
  /**
   * Whether the handler counts all items where `include_total=true` asks for it; otherwise that is a 400.
   * @default true
   */
  readonly total?: boolean
}

/** Options of a route, under `config.lists`. An object, also an empty one, makes the route a list. */
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
  /** Member of the answer that holds the items. */
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
