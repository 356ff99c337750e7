import type { AnyRequest } from '../../fastify/any-request.js'
import { webOrigin } from '../../http/web-origin.js'
import {
  type Check,
  flag,
  functionOf,
  invalid,
  listOf,
  type OptionsOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../rules/modes.js'

/** Returns what identifies the session of a request; `null` if its cookies authenticate no user. */
export type SessionOf = AnyRequest<[], string | null>

const cookieName = text('the name of a cookie', /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)

const cookies = listOf(cookieName, 'at least one name of a cookie')

// The message must not show the secret.
const secret: Check<string> = (label, received) =>
  typeof received === 'string' && received.length >= 32
    ? received
    : invalid(
        label,
        'a text of at least 32 characters',
        typeof received === 'string' ? `${received.length} characters` : typeof received,
      )

const severalSecrets = listOf(secret, 'at least one secret')
const secrets: Check<string | readonly string[]> = (label, received) =>
  (Array.isArray(received) ? severalSecrets : secret)(label, received)

const required = {
  /**
   * Names of the cookies that authenticate requests, such as `['session']`. Requests without them need nothing.
   */
  cookies: option(cookies, []),
  /**
   * Secret of at least 32 characters that signs the tokens, the same in all instances. With several, the first one signs and
   * all verify: put a new one in front, and remove the old one when no page has its tokens any more.
   */
  secret: option(secrets, ''),
}

const others = {
  /**
   * Returns what identifies the session of a request, for cookies whose value changes during a session, such as those of
   * @fastify/secure-session. It runs only for requests with one of the cookies, before the hooks of the app, and so has to
   * read the cookie itself.
   * @default the values of the cookies
   */
  session: optional(functionOf<SessionOf>('a function that returns a text or null')),
  /**
   * Name of the cookie from which pages read their token. With the prefix `__Host-` or `__Secure-` it needs HTTPS.
   * @default '__Host-XSRF-TOKEN' over HTTPS, 'XSRF-TOKEN' over plain HTTP
   */
  cookieName: optional(cookieName),
  /**
   * Origins whose pages may act for the user (`'https://app.example'`), besides that of the service. They need a token too.
   * Not the same as the origins of `cors`, whose pages may read.
   * @default []
   */
  origins: option(listOf(webOrigin), []),
  /**
   * Whether reads that a cookie authenticates are refused if they may be for a `<script>` or another element of a page of
   * another origin.
   * @default true
   */
  requestedWith: option(flag, true),
  /**
   * `enforce` refuses requests and sets the cookie, `report` changes nothing and counts what would be refused, `off` does
   * nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

export const xsrfOptions = { ...required, ...others }

export const xsrfRouteOptions = {
  /**
   * See {@link XsrfOptions.mode}; `off` is the same as `false`.
   * @default the mode of the plugin
   */
  mode: routeModeOption,
  /**
   * See {@link XsrfOptions.requestedWith}.
   * @default that of the plugin; `false` for routes that may be pages: wildcard routes, WebSocket routes and routes that are
   * hidden from the OpenAPI document
   */
  requestedWith: optional(flag),
  /**
   * Whether the route begins a session. Its unsafe methods need no token, because there is no session yet. They are refused
   * from other origins, with or without a cookie: a page must not log its visitors in as somebody else (login CSRF).
   * @default false
   */
  login: optional(flag),
}

/** Options of the plugin `xsrf`. */
export interface XsrfOptions extends Required<OptionsOf<typeof required>>, OptionsOf<typeof others> {}

/** Options of a route, under `config.xsrf`; `false` for a route that no cookie authenticates, such as a webhook. */
export interface XsrfRouteOptions extends OptionsOf<typeof xsrfRouteOptions> {}

export type ResolvedXsrf = ResolvedOptions<typeof xsrfOptions>

/** Checks the options that have to be given, and those that exclude each other. */
export function checkRequired({ cookies: names, secret: given, cookieName: own }: ResolvedXsrf): void {
  cookies('xsrf.cookies', names)
  secrets('xsrf.secret', given === '' ? undefined : given)
  if (own !== undefined && names.includes(own)) {
    invalid('xsrf.cookieName', 'a name that is not in xsrf.cookies', own)
  }
}
