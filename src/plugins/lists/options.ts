import {
  type Check,
  flag,
  integer,
  invalid,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { type Mode, modeOption } from '../../report/modes.js'
import type { PageKey, PageRules } from './page.js'

const keys: Check<readonly PageKey[]> = listOf(oneOf('id', 'time'), "'id', 'time' or both")

const limit = integer(1, 10_000)

export const listsOptions = {
  /**
   * The mode of the checks of `reply.list()` (rows that do not lie beyond the cursor), of the response schema (members that
   * it would remove), and of query schemas that page by offset: `enforce` sends a 500 and stops the boot, `report` counts
   * and reports, `off` checks neither. The parameters of a request are checked in every mode.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Items on a page if the request has no `limit`.
   * @default 50, or `maxLimit` if that is less
   */
  defaultLimit: optional(limit),
  /**
   * Maximum of items on a page; a larger `limit` is lowered to it.
   * @default 200
   */
  maxLimit: option(limit, 200),
  /**
   * Form of ids: `int64` reads them as exact BigInts, `text` accepts any string of up to 200 characters.
   * @default 'int64'
   */
  idFormat: option(oneOf('int64', 'text'), 'int64'),
  /**
   * Field of an item that holds its id.
   * @default 'id'
   */
  id: option(text(), 'id'),
  /**
   * Field of an item with the time for `before_time`. It needs the full precision that the store sorts by: a `Date` has
   * milliseconds, so with a column of microseconds rows would be missing between two pages. Return such a time as text, or
   * limit the column to milliseconds.
   * @default 'created_at', or 'createdAt' if the `keyStyle` of `responseRules` is camelCase
   */
  time: optional(text()),
  /**
   * The keys that the handler supports: `id` for `before_id` and `after_id`, `time` for `before_time`. A request without a
   * cursor pages by the first. Parameters of other keys are a 400, and not in the OpenAPI document.
   * @default ['id', 'time']
   */
  by: option(keys, ['id', 'time']),
  /**
   * Whether the handler supports `include_total=true`; if not, that is a 400.
   * @default true
   */
  total: option(flag, true),
}

export const listsRouteOptions = {
  ...listsOptions,
  /**
   * Member of the response that holds the items.
   * @default the last literal segment of the path, in the `keyStyle` of `responseRules`
   */
  member: optional(text()),
}

/** Options of the plugin `lists`. */
export type ListsOptions = OptionsOf<typeof listsOptions>

/** Options of a route, under `config.lists`. An object makes the route a list, even if it is empty. */
export type ListsRouteOptions = OptionsOf<typeof listsRouteOptions>

export interface ListRules extends PageRules {
  readonly mode: Mode
  readonly id: string
  readonly time: string
  readonly member: string
}

type Limits = Pick<ResolvedOptions<typeof listsOptions>, 'defaultLimit' | 'maxLimit'>

/** Returns the limits of a route: its own options, over those of the plugin. */
export function limitsOf(
  label: string,
  own: ListsRouteOptions,
  { defaultLimit = 50, maxLimit }: Limits,
): Required<Pick<ListsOptions, 'defaultLimit' | 'maxLimit'>> {
  const most = own.maxLimit ?? maxLimit
  if (own.defaultLimit !== undefined && own.defaultLimit > most)
    invalid(`${label}.defaultLimit`, `at most maxLimit (${most})`, own.defaultLimit)
  return { maxLimit: most, defaultLimit: Math.min(own.defaultLimit ?? defaultLimit, most) }
}
