import {
  type Check,
  checksOf,
  flag,
  functionOf,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  objectOf,
  oneOf,
  option,
  optional,
  orFalse,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption } from '../../report/modes.js'
import { clockOption, timerOption } from '../../time/clock.js'
import { duration } from '../../time/time-window.js'

/** The signature algorithms that {@link BearerOptions.algorithms} may list. All are asymmetric. */
export type BearerAlgorithm = (typeof algorithmNames)[number]

const defaultAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const
const algorithmNames = [...defaultAlgorithms, 'RS384', 'RS512', 'PS384', 'PS512', 'ES384', 'ES512'] as const

/** A JSON Web Key Set (RFC 7517 §5) of public keys. */
export interface BearerKeySet {
  readonly keys: readonly object[]
}

const url: Check<string> = (label, received) =>
  isUrl(received)
    ? received
    : invalid(label, "an absolute URL without fragment and user, such as 'https://id.example.com'", received)

function isUrl(received: unknown): received is string {
  if (typeof received !== 'string' || !/^https?:\/\/[^#\s]+$/.test(received) || !URL.canParse(received))
    return false
  const { username, password } = new URL(received)
  return username === '' && password === ''
}

// RFC 6749 §3.3
const scope = text(
  "a scope such as 'users:read': printable ASCII without space, quote and backslash",
  /^[!#-[\]-~]+$/,
)

const audiences = listOf(text("an audience such as 'https://api.example.com'"), 'at least one audience')
const audience: Check<string | readonly string[]> = (label, received) => audiences(label, [received].flat())

// A secret must not be in an error.
const secret: Check<string> = (label, received) =>
  typeof received === 'string' && received !== ''
    ? received
    : invalid(label, 'a non-empty string', typeof received)

const client = {
  /** Identifier of this service as a client of the issuer. */
  clientId: optional(text()),
  /** Secret of this client. It is sent to the issuer, and is never logged. */
  clientSecret: optional(secret),
}

const ofIntrospection = {
  /**
   * How long the response of the issuer is used for further requests with the token: milliseconds, or a text such as
   * `'10s'`; at most until the token expires. A revoked token is accepted that long.
   * @default 0: the issuer is asked for each request
   */
  cacheFor: optional<number | string>((label, received) => (received === 0 ? 0 : duration(label, received))),
}

/** Options of token introspection (RFC 7662). */
export interface IntrospectionOptions
  extends Required<OptionsOf<typeof client>>,
    OptionsOf<typeof ofIntrospection> {}

const introspection: Check<IntrospectionOptions> = objectOf(checksOf({ ...client, ...ofIntrospection }), [
  'clientId',
  'clientSecret',
])

function isPublicKey(key: unknown): boolean {
  return isObject(key) && typeof key.kty === 'string' && key.kty !== 'oct' && !('d' in key)
}

const required = {
  /**
   * Issuer identifier (RFC 8414 §2): the URL in the claim `iss`, character for character. `https`, or `http` on the
   * loopback interface.
   */
  issuer: optional(url),
  /** The audience of this service, or several: the claim `aud` of a token must have one of them (RFC 9068 §4). */
  audience: optional(audience),
}

const others = {
  /**
   * `enforce` refuses requests, `report` serves them all, does not set `request.caller`, and counts those that would be
   * refused, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Whether URLs of the issuer on other hosts than the loopback interface may be `http`. Not in production: keys and
   * tokens could be read and replaced on the way.
   * @default false
   */
  allowHttp: option(flag, false),
  /**
   * URL of the issuer's keys.
   * @default `jwks_uri` of the issuer's metadata (RFC 8414, else OpenID Connect Discovery 1.0)
   */
  jwksUri: optional(url),
  /**
   * Fixed public keys. Nothing is fetched then. Not for an issuer that replaces its keys.
   * @default none: keys are fetched
   */
  jwks: optional<BearerKeySet>((label, received) =>
    isObject(received) &&
    Array.isArray(received.keys) &&
    received.keys.length > 0 &&
    received.keys.every(isPublicKey)
      ? (received as unknown as BearerKeySet)
      : // Not shown: it may be a private key.
        invalid(label, 'an object with keys: public keys as JSON Web Keys', typeof received),
  ),
  /**
   * Asks the issuer about each token (RFC 7662), instead of verifying a signature: for tokens that are not JWTs, or that
   * have to be refused as soon as they are revoked.
   * @default none: tokens are JWTs (RFC 9068)
   */
  introspection: optional(introspection),
  /**
   * Signature algorithms that are accepted (RFC 8725 §3.1).
   * @default ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
   */
  algorithms: option<readonly BearerAlgorithm[]>(
    listOf(oneOf(...algorithmNames), 'at least one algorithm'),
    defaultAlgorithms,
  ),
  /**
   * The `typ` that tokens must have in their header, compared as a media type without `application/`. `false` does not
   * check it. Not `false` if the issuer signs other JWTs for the same audience, such as ID tokens: these would be accepted.
   * @default 'at+jwt' (RFC 9068 §2.1)
   */
  typ: option<string | false>(orFalse(text("a type such as 'at+jwt', or false")), 'at+jwt'),
  /**
   * The claim with the scopes: a text with spaces between them (RFC 9068 §2.2.3), or a list of texts, such as `scp`.
   * @default 'scope'
   */
  scopeClaim: option(text("the name of a claim, such as 'scp'"), 'scope'),
  /**
   * Scopes that a token must have on each route that says nothing else.
   * @default []
   */
  scopes: option(listOf(scope), []),
  /**
   * Name of the security scheme in the OpenAPI document, to which the routes refer. It is added unless the document has one
   * of this name.
   * @default 'bearer'
   */
  securityScheme: optional(text("a name such as 'bearer'", /^[\w.-]+$/)),
  /**
   * Sends the requests to the issuer: for proxies, or a certificate authority of your own.
   * @default globalThis.fetch
   */
  fetch: option(functionOf<typeof fetch>('a function such as fetch'), (...given) => fetch(...given)),
  ...clockOption,
  ...timerOption,
}

export const bearerOptions = { ...required, ...others }

export const bearerRouteOptions = {
  /**
   * The scopes that a token must have, all of them.
   * @default those of the plugin
   */
  scopes: optional(listOf(scope)),
  /**
   * Whether requests without a token are served, with `request.caller` `null`. A token that is sent has to be valid.
   * @default false
   */
  optional: optional(flag),
}

/** Options of the plugin `bearer`. */
export interface BearerOptions extends Required<OptionsOf<typeof required>>, OptionsOf<typeof others> {}

/** Options of a route, under `config.bearer`; `false` for a route that needs no token. */
export interface BearerRouteOptions extends OptionsOf<typeof bearerRouteOptions> {}

/** The options of the plugin with all defaults. */
export interface ResolvedBearer extends ResolvedOptions<typeof bearerOptions> {
  readonly issuer: string
  readonly audience: readonly string[]
  /** The `realm` of challenges (RFC 9110 §11.5): the first audience. */
  readonly realm: string
}

export function resolveBearer(given: ResolvedOptions<typeof bearerOptions>): ResolvedBearer {
  const { allowHttp, jwksUri, jwks, introspection } = given
  const issuer = url('bearer.issuer', given.issuer)
  const audience = audiences('bearer.audience', [given.audience].flat())
  for (const [name, value] of Object.entries({ issuer, jwksUri })) {
    if (value !== undefined && !isSecure(value, allowHttp))
      invalid(`bearer.${name}`, 'an https URL, or http on the loopback interface', value)
  }
  const ways = Object.entries({ jwksUri, jwks, introspection }).filter(([, value]) => value !== undefined)
  const names = ways.map(([name]) => name).join(', ')
  if (ways.length > 1) invalid('bearer', 'one of jwksUri, jwks and introspection', names)
  const realm = audience[0]?.replace(/[^ -~]+/g, '') || 'api'
  return { ...given, issuer, audience, realm }
}

const loopback = /^(?:(?:.+\.)?localhost|\[::1\]|127(?:\.\d+){3})$/

/** Whether a URL of the issuer may be used: keys and tokens go over it. */
export function isSecure(text: string, allowHttp: boolean): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || loopback.test(hostname)))
}
