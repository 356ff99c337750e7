import { webOrigin } from '../../http/url.js'
import {
  type Check,
  flag,
  invalid,
  listOf,
  type OptionsOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption, routeMode } from '../../report/modes.js'

const cookieName = text('the name of a cookie', /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)

const cookies = listOf(cookieName, 'at least one name of a cookie')

// The message must not show the secret.
const secret: Check<string> = (label, received) =>
  typeof received === 'string' && received.length >= 32
    ? received
    : invalid(label, 'a text of at least 32 characters', typeof received)

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
  ...routeMode,
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

/** Checks the options that have to be given. */
export function checkRequired({ cookies: names, secret: given }: ResolvedXsrf): void {
  cookies('xsrf.cookies', names)
  secrets('xsrf.secret', given === '' ? undefined : given)
}
