import { fieldName } from '../../http/field-name.js'
import { webOrigin } from '../../http/web-origin.js'
import {
  type Check,
  flag,
  integer,
  invalid,
  listOf,
  type OptionsOf,
  option,
  optional,
  text,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../rules/modes.js'
import { type AskForAllowed, type CorsPolicy, exposedHeaders, matchingWhole } from './cors-headers.js'

/** Returns the origins that may read responses, or a promise of them. It is not called for requests without `Origin`. */
export type CorsOriginFunction = AskForAllowed

/** Origins that may read responses. */
export type CorsOrigin = boolean | string | RegExp | readonly (string | RegExp)[] | CorsOriginFunction

const origin: Check<CorsOrigin> = (label, received) => {
  if (typeof received === 'boolean') return received
  if (typeof received === 'function') {
    return received.length > 1
      ? invalid(label, 'a function that returns what is allowed, without a callback', received)
      : (received as CorsOriginFunction)
  }
  if (!Array.isArray(received)) return oneOrigin(label, received)
  return severalOrigins(label, received)
}

const severalOrigins = listOf<string | RegExp>(
  (label, received) =>
    received === '*'
      ? invalid(label, "an origin, or '*' alone without a list", received)
      : oneOrigin(label, received),
  'at least one origin, or false',
)

function oneOrigin(label: string, received: unknown): string | RegExp {
  if (received instanceof RegExp) {
    const { source } = received
    // An expression without anchors suggests that it matches a part of an origin.
    return source.startsWith('^') && source.endsWith('$')
      ? matchingWhole(received)
      : invalid(label, 'a regular expression from ^ to $', String(received))
  }
  return received === '*' ? received : webOrigin(label, received)
}

const fieldNames: Check<readonly string[]> = listOf(fieldName)

export const corsOptions = {
  /**
   * `enforce` sets headers and answers preflights, `report` adds nothing and counts the requests from other origins, `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Origins that may read responses: an origin (`'https://app.example'`), several, a regular expression from `^` to `$`, a
   * function, `'*'` or `true` for all (`true` sends the origin of the request), `false` for none.
   * @default false
   */
  origin: option<CorsOrigin>(origin, false),
  /**
   * Whether a page may send cookies and read the response. Not with `origin: true` or `'*'`.
   * @default false
   */
  credentials: option(flag, false),
  /**
   * Response headers that a page may read, in addition to those of the conventions.
   * @default []
   */
  exposedHeaders: option(fieldNames, []),
  /**
   * Methods that a page may use.
   * @default ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
   */
  methods: option(listOf(text('a method such as PATCH', /^[A-Z]+$/)), [
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
  ]),
  /**
   * Request headers that a page may send.
   * @default those that the preflight asks for
   */
  allowedHeaders: optional(fieldNames),
  /**
   * Seconds for which a browser may reuse the answer to a preflight. Chromium reduces it to two hours, Firefox to a day.
   * @default 7200
   */
  maxAge: option(integer(0, 86_400), 7200),
}

/** The options of a route, for its responses; a preflight has the options of the plugin. */
export const corsRouteOptions = {
  /**
   * Origins that may read the responses of this route.
   * @default those of the plugin
   */
  origin: optional(origin),
  /**
   * See {@link CorsOptions.credentials}.
   * @default that of the plugin
   */
  credentials: optional(flag),
  /**
   * See {@link CorsOptions.exposedHeaders}; added to those of the plugin.
   * @default []
   */
  exposedHeaders: optional(fieldNames),
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
  {
    origin,
    credentials,
    exposedHeaders: own,
  }: Required<Pick<CorsOptions, 'origin' | 'credentials' | 'exposedHeaders'>>,
): CorsPolicy {
  if (credentials && (origin === true || origin === '*')) {
    invalid(`${label}.origin`, 'named origins, because credentials is true', origin)
  }
  return { origin, credentials, exposed: exposedHeaders(own) }
}
