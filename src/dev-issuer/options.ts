import {
  type Check,
  functionOf,
  invalid,
  listOf,
  objectOf,
  option,
  resolveOptions,
  text,
} from '../options.js'

/** A client of {@link DevIssuerOptions}: a program with a secret, or an app without one. */
export interface DevClient {
  /** The parameter `client_id`. */
  readonly id: string
  /** Secret of a program, which gets tokens by client credentials. An app that users log in to has none. */
  readonly secret?: string
  /**
   * Where an app may have users sent back to. A path is one of the service itself; if the issuer is on the loopback
   * interface, under each of its names.
   * @default []
   */
  readonly redirectUris?: readonly string[]
  /**
   * The scopes that it may have.
   * @default all
   */
  readonly scopes?: readonly string[]
}

/** A user who can log in. */
export interface DevUser {
  /** The claim `sub`. */
  readonly id: string
  /** What the login page shows. */
  readonly name: string
}

/** Options of `devIssuer`. */
export interface DevIssuerOptions {
  /** Origin of the app, as in the claim `iss`: `'http://localhost:3000'`. */
  readonly issuer: string
  /** The API that the tokens are for: the claim `aud`, a URL (RFC 8707 §2). */
  readonly audience: string
  /**
   * All scopes.
   * @default []
   */
  readonly scopes?: readonly string[]
  /**
   * Clients that may ask for tokens.
   * @default []
   */
  readonly clients?: readonly DevClient[]
  /**
   * Who can log in, or a function that returns them. Called with an `id`, it may return that user only. The login page
   * shows the first 20.
   * @default []
   */
  readonly users?: readonly DevUser[] | FindUsers
}

/** Returns users: all, or at least the one with an id. */
export type FindUsers = (id?: string) => readonly DevUser[] | Promise<readonly DevUser[]>

export type FindUser = (id: string) => Promise<DevUser | undefined>

export type ResolvedDevIssuer = Required<DevIssuerOptions>

const origin: Check<string> = (label, received) =>
  typeof received === 'string' && URL.canParse(received) && /^https?:\/\/[^/?#]+$/.test(received)
    ? received
    : invalid(label, "an origin such as 'http://localhost:3000'", received)

const url: Check<string> = (label, received) =>
  typeof received === 'string' && URL.canParse(received) && !received.includes('#')
    ? received
    : invalid(label, "a URL such as 'https://api.example.com'", received)

const scopes = listOf(text('a scope without spaces (RFC 6749 §3.3)', /^[!#-[\]-~]+$/))
const client = objectOf<DevClient, 'id'>(
  {
    id: text(),
    secret: text(),
    redirectUris: listOf(text("a path or URL such as '/login/callback'", /^(\/|https?:\/\/)/)),
    scopes,
  },
  ['id'],
)
const listOfUsers = listOf(objectOf<DevUser, 'id' | 'name'>({ id: text(), name: text() }, ['id', 'name']))
const findsUsers = functionOf<FindUsers>('an array of users, or a function that returns them')
const users: Check<readonly DevUser[] | FindUsers> = (label, received) =>
  Array.isArray(received) ? listOfUsers(label, received) : findsUsers(label, received)

const declared = {
  issuer: option(origin, ''),
  audience: option(url, ''),
  scopes: option(scopes, []),
  clients: option<readonly DevClient[]>(listOf(client), []),
  users: option(users, []),
}

export function resolveDevIssuer(received: DevIssuerOptions): ResolvedDevIssuer {
  const options: ResolvedDevIssuer = resolveOptions('devIssuer', received, declared)
  for (const name of ['issuer', 'audience'] as const)
    declared[name].check(`devIssuer.${name}`, received[name])
  for (const [index, { scopes = [] }] of options.clients.entries()) {
    const unknown = scopes.find((scope) => !options.scopes.includes(scope))
    if (unknown !== undefined)
      invalid(`devIssuer.clients[${index}].scopes`, 'scopes of devIssuer.scopes', unknown)
  }
  return options
}
