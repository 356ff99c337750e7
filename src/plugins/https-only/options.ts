import { type Checks, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

/** Options of a route, under `config.httpsOnly`; `false` lets it serve plain HTTP. */
export interface HttpsOnlyRouteOptions {
  /**
   * See {@link HttpsOnlyOptions.mode}; `off` is the same as `false`.
   * @default the mode of the plugin
   */
  readonly mode?: Mode
}

/** Options of the plugin `httpsOnly`. */
export interface HttpsOnlyOptions {
  /**
   * `enforce` refuses requests over plain HTTP, `report` changes nothing and counts them, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Paths that are served over plain HTTP too, such as `/healthz`; compared with the whole raw path, without the query.
   * For paths whose route cannot have `config.httpsOnly: false`.
   *
   * Not for paths that need credentials, or reveal anything about users.
   * @default []
   */
  readonly except?: readonly string[]
}

/** Checks of {@link HttpsOnlyRouteOptions}. */
export const httpsOnlyRouteChecks: Checks<HttpsOnlyRouteOptions> = { mode: oneOf(...modes) }

/** Checks of {@link HttpsOnlyOptions}. */
export const httpsOnlyChecks: Checks<HttpsOnlyOptions> = {
  ...httpsOnlyRouteChecks,
  except: listOf(text("a path such as '/healthz', without a query or a wildcard", /^\/[^?#*]*$/)),
}

/** The defaults of {@link HttpsOnlyOptions}. */
export const httpsOnlyDefaults: Required<HttpsOnlyOptions> = { mode: 'enforce', except: [] }
