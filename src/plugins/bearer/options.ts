import {
  type Check,
  checksOf,
  flag,
  functionOf,
  integer,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  objectOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption } from '../../rules/modes.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { duration } from '../../time/time-window.js'

/** The signature algorithms that {@link BearerOptions.algorithms} may list. All are asymmetric. */
export type BearerAlgorithm = (typeof algorithmNames)[number]

const algorithmNames = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

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

const claim = text("the name of a claim, such as 'client_id'")

const audiences = listOf(text("an audience such as 'https://api.example.com'"), 'at least one audience')
const audience: Check<string | readonly string[]> = (label, received) =>
  audiences(label, typeof received === 'string' ? [received] : received)

const openRouteMembers = {
  /** Path pattern as it was registered. `/docs/*` stands for `/docs`, `/docs/` and all paths below. */
  url: optional(text("a path such as '/metrics' or '/docs/*'", /^\//)),
  /** The reason, for the boot report. */
  reason: optional(text()),
}

/** A route without a token whose `config` is out of reach, such as one of another plugin. */
export interface OpenRoute extends Required<OptionsOf<typeof openRouteMembers>> {}

const openRoute: Check<OpenRoute> = objectOf(checksOf(openRouteMembers)[0], ['url', 'reason'])

// A secret must not be in an error.
const secret: Check<string> = (label, received) =>
  typeof received === 'string' && received !== ''
    ? received
    : invalid(label, 'a non-empty string', typeof received === 'string' ? '' : typeof received)

const client = {
  /** Identifier of this service as a client of the issuer. */
  clientId: optional(text()),
  /** Secret of this client. It is sent to the issuer, and is never logged. */
  clientSecret: optional(secret),
}

const ofIntrospection = {
  /**
   * URL of the introspection endpoint.
   * @default `introspection_endpoint` of the issuer's metadata
   */
  endpoint: optional(url),
  /**
   * How the client authenticates (RFC 6749 §2.3.1): `basic` in `Authorization`, `post` in the body.
   * @default 'basic'
   */
  authentication: option(oneOf('basic', 'post'), 'basic'),
  /**
   * How long the response of the issuer is used for further requests with the token: milliseconds, or a text such as
   * `'10s'`; at most until the token expires. A revoked token is accepted that long.
   * @default 0: the issuer is asked for each request
   */
  cacheFor: option<number | string>((label, received) => (received === 0 ? 0 : duration(label, received)), 0),
  /**
   * Whether a response without `aud` is accepted. Not if the issuer has tokens for other services: these would be accepted.
   * @default false
   */
  allowMissingAudience: option(flag, false),
}

/** Options of token introspection (RFC 7662). */
export interface IntrospectionOptions
  extends Required<OptionsOf<typeof client>>,
    OptionsOf<typeof ofIntrospection> {}

const [introspectionChecks, introspectionDefaults] = checksOf({ ...client, ...ofIntrospection })

const introspection: Check<IntrospectionOptions> = objectOf(introspectionChecks, ['clientId', 'clientSecret'])

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
   * Asks the issuer about each token (RFC 7662), instead of verifying a signature: for tokens that are no JWTs, or that
   * have to be refused as soon as they are revoked.
   * @default none: tokens are JWTs (RFC 9068)
   */
  introspection: optional(introspection),
  /**
   * Signature algorithms that are accepted (RFC 8725 §3.1).
   * @default ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
   */
  algorithms: option(listOf(oneOf(...algorithmNames), 'at least one algorithm'), [
    'RS256',
    'PS256',
    'ES256',
    'EdDSA',
    'Ed25519',
  ]),
  /**
   * The `typ` that tokens must have in their header, compared as a media type without `application/`. `false` does not
   * check it. Not `false` if the issuer signs other JWTs for the same audience, such as ID tokens: these would be accepted.
   * @default 'at+jwt' (RFC 9068 §2.1)
   */
  typ: option<string | false>(
    (label, received) =>
      received === false
        ? false
        : text("a type such as 'at+jwt', or false", /^[\w!#$&^.+/-]+$/)(label, received),
    'at+jwt',
  ),
  /**
   * Claims that a token must have besides `iss`, `sub`, `aud` and `exp`.
   * @default ['iat', 'client_id', 'jti'] (RFC 9068 §2.2)
   */
  requiredClaims: option(listOf(claim), ['iat', 'client_id', 'jti']),
  /**
   * The claim with the scopes: a text with spaces between them (RFC 9068 §2.2.3), or a list of texts, such as `scp`.
   * @default 'scope'
   */
  scopeClaim: option(claim, 'scope'),
  /**
   * Scopes that a token must have on each route that says nothing else.
   * @default []
   */
  scopes: option(listOf(scope), []),
  /**
   * Difference between the clocks of the issuer and of this service that is tolerated, in seconds; at most 300.
   * @default 10
   */
  clockTolerance: option(integer(0, 300), 10),
  /**
   * Resource identifier of this service, a URL, for `/.well-known/oauth-protected-resource` (RFC 9728) and the parameter
   * `resource_metadata` of `WWW-Authenticate`. `false` for neither.
   * @default the first audience that is a URL; without one, `false`
   */
  resource: optional<string | false>((label, received) =>
    received === false ? false : url(label, received),
  ),
  /**
   * Routes that need no token and whose `config` is out of reach. Your own routes use `config.bearer: false`.
   * @default []
   */
  open: option(listOf(openRoute), []),
  /**
   * Name of the security scheme in the OpenAPI document, to which the routes refer. It is added unless the document has one
   * of this name.
   * @default 'bearer'
   */
  securityScheme: optional(text("a name such as 'bearer'", /^[\w.-]+$/)),
  /**
   * Maximum number of verified tokens in memory, about 2 kB each. The tokens themselves are not stored, only their
   * SHA-256. `0` verifies each request.
   * @default 5000
   */
  cache: option(integer(0, 10_000_000), 5000),
  /**
   * Age at which the issuer's keys are fetched again before a token is verified, and cached tokens are verified again:
   * milliseconds, or a text such as `'10 minutes'`.
   * @default '10 minutes'
   */
  keysMaxAge: option(duration, 600_000),
  /**
   * Minimum time between two fetches from the issuer that requests cause: by a key that is not known, or after a failure.
   * @default '5 seconds'
   */
  keysCooldown: option(duration, 5_000),
  /**
   * Time limit of a request to the issuer.
   * @default '5 seconds'
   */
  timeout: option(duration, 5_000),
  /**
   * Sends the requests to the issuer: for proxies, or a certificate authority of your own.
   * @default globalThis.fetch
   */
  fetch: option(functionOf<typeof fetch>('a function such as fetch'), ((
    ...parameters: Parameters<typeof fetch>
  ) => fetch(...parameters)) as typeof fetch),
  /**
   * Returns the time, in milliseconds since the epoch. For tests.
   * @default Date.now
   */
  now: option(functionOf<() => number>('a function that returns milliseconds'), () => Date.now()),
  /**
   * Calls a function later. For tests.
   * @default setTimeout, with timers that do not keep the process alive
   */
  schedule: option(functionOf<Schedule>('a function that calls another later'), scheduleTimeout),
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

type Given = ResolvedOptions<typeof bearerOptions>
type Normalised = 'issuer' | 'audience' | 'resource' | 'introspection'
type DurationName = 'keysMaxAge' | 'keysCooldown' | 'timeout'

/** The options of introspection with their defaults; the duration in milliseconds. */
export interface ResolvedIntrospection extends Required<Omit<IntrospectionOptions, 'endpoint' | 'cacheFor'>> {
  readonly endpoint?: string
  readonly cacheFor: number
}

/** The options of the plugin with all defaults; durations in milliseconds. */
export interface ResolvedBearer
  extends Omit<Given, Normalised | DurationName>,
    Readonly<Record<DurationName, number>> {
  readonly issuer: string
  readonly audience: readonly string[]
  /** The `realm` of challenges (RFC 9110 §11.5): the first audience. */
  readonly realm: string
  /** `null` for no metadata of the resource. */
  readonly resource: string | null
  readonly introspection: ResolvedIntrospection | null
}

export function resolveBearer(given: Given): ResolvedBearer {
  const { issuer, audience, allowHttp, jwksUri, jwks, introspection } = given
  if (issuer === undefined) return invalid('bearer.issuer', 'the URL of the issuer of the tokens', issuer)
  if (audience === undefined) return invalid('bearer.audience', 'the audience of this service', audience)
  const urls = { issuer, jwksUri, 'introspection.endpoint': introspection?.endpoint }
  for (const [name, value] of Object.entries(urls)) {
    if (value !== undefined && !isSecure(value, allowHttp))
      invalid(`bearer.${name}`, 'an https URL, or http on the loopback interface', value)
  }
  const ways = { jwksUri, jwks, introspection }
  const chosen = Object.entries(ways).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (chosen.length > 1) invalid('bearer', 'one of jwksUri, jwks and introspection', chosen.join(', '))
  const audiences = [audience].flat()
  const resource = given.resource ?? audiences.find(isUrl) ?? false
  return Object.freeze({
    // The checks have made the durations numbers.
    ...(given as Given & Readonly<Record<DurationName, number>>),
    issuer,
    audience: audiences,
    realm: audiences[0]?.replace(/[^ -~]+/g, '') || 'api',
    resource: resource === false ? null : resource,
    introspection:
      introspection === undefined
        ? null
        : ({ ...introspectionDefaults, ...introspection } as ResolvedIntrospection),
  })
}

/** Whether a URL of the issuer may be used: keys and tokens go over it. */
export function isSecure(text: string, allowHttp: boolean): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || isLoopback(hostname)))
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host)
  )
}
