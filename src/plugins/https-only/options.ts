import { listOf, type OptionsOf, option, text } from '../../options.js'
import { modeOption, routeModeOption } from '../../rules/modes.js'

/** The options of the plugin, with their defaults. */
export const httpsOnlyOptions = {
  /**
   * `enforce` refuses requests over plain HTTP, `report` changes nothing and counts them, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Paths that are served over plain HTTP too, such as `/healthz`; compared with the whole raw path, without the query.
   * For paths whose route cannot have `config.httpsOnly: false`.
   *
   * Not for paths that need credentials, or reveal anything about users.
   * @default []
   */
  except: option(listOf(text("a path such as '/healthz', without a query or a wildcard", /^\/[^?#*]*$/)), []),
}

/** The options of a route. */
export const httpsOnlyRouteOptions = {
  /**
   * See {@link HttpsOnlyOptions}; `off` is the same as `false`.
   * @default the mode of the plugin
   */
  mode: routeModeOption,
}

/** Options of the plugin `httpsOnly`. */
export type HttpsOnlyOptions = OptionsOf<typeof httpsOnlyOptions>

/** Options of a route, under `config.httpsOnly`; `false` lets it serve plain HTTP. */
export type HttpsOnlyRouteOptions = OptionsOf<typeof httpsOnlyRouteOptions>
