import { fieldName } from '../../http/header-fields.js'
import { webOrigin } from '../../http/url.js'
import { type Check, flag, invalid, listOf, type OptionsOf, option, optional } from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'
import { allowedBy, type CorsPolicy, exposedHeaders, type IsAllowed } from './cors-headers.js'

/** Returns whether an origin may read responses, or a promise of that. It is not called for requests without `Origin`. */
export type CorsOriginFunction = IsAllowed

/** Origins that may read responses. */
export type CorsOrigin = false | string | RegExp | readonly (string | RegExp)[] | CorsOriginFunction

const origin: Check<CorsOrigin> = (label, received) => {
  if (received === false) return received
  if (typeof received === 'function') {
    return received.length > 1
      ? invalid(label, 'a function that returns whether an origin is allowed, without a callback', received)
      : (received as CorsOriginFunction)
  }
  return Array.isArray(received) ? severalOrigins(label, received) : oneOrigin(label, received)
}

const severalOrigins = listOf<string | RegExp>(
  (label, received) =>
    received === '*'
      ? invalid(label, "an origin, or '*' alone without a list", received)
      : oneOrigin(label, received),
  'at least one origin, or false',
)

function oneOrigin(label: string, received: unknown): string | RegExp {
  if (!(received instanceof RegExp)) return received === '*' ? received : webOrigin(label, received)
  const { source } = received
  // An expression without anchors suggests that it matches a part of an origin.
  if (source.startsWith('^') && source.endsWith('$')) return received
  return invalid(label, 'a regular expression from ^ to $', String(received))
}

export const corsOptions = {
  /**
   * `enforce` sets headers and answers preflights, `report` adds nothing and counts the requests from other origins, `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Origins that may read responses: an origin (`'https://app.example'`), several, a regular expression from `^` to `$`, a
   * function of the origin that returns whether it may, `'*'` for all, `false` for none.
   * @default false
   */
  origin: option<CorsOrigin>(origin, false),
  /**
   * Whether a page may send cookies and read the response. Not with `origin: '*'`.
   * @default false
   */
  credentials: option(flag, false),
  /**
   * Response headers that a page may read, in addition to those of the conventions.
   * @default []
   */
  exposedHeaders: option(listOf(fieldName), []),
}

/** The options of a route, for its responses; a preflight has the options of the plugin. */
export const corsRouteOptions = {
  /**
   * Origins that may read the responses of this route.
   * @default those of the plugin
   */
  origin: optional(origin),
  /**
   * Mode of this route.
   * @default that of the plugin
   */
  mode: routeModeOption,
}

/** Options of the plugin `cors`. */
export type CorsOptions = OptionsOf<typeof corsOptions>

/** Options of a route, under `config.cors`; `false` for no page. */
export type CorsRouteOptions = OptionsOf<typeof corsRouteOptions>

/** @throws FST_CONV_OPTION_INVALID for `credentials` with all origins: any page could act for the user */
export function policyOf(
  label: string,
  { origin, credentials, exposedHeaders: own }: Required<Omit<CorsOptions, 'mode'>>,
): CorsPolicy | null {
  if (origin === false) return null
  if (credentials && origin === '*')
    invalid(`${label}.origin`, 'named origins, because credentials is true', origin)
  const allowed = typeof origin === 'function' ? origin : allowedBy(origin)
  return { allowed, credentials, exposed: exposedHeaders(own) }
}
