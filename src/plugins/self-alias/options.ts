import type { FastifyRequest } from 'fastify'
import { isField } from '../../http/error-headers.js'
import { fieldName } from '../../http/field-name.js'
import {
  type Check,
  type Checks,
  functionOf,
  invalid,
  isObject,
  listOf,
  objectOf,
  oneOf,
  text,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

/** The id of a record. */
export type SelfId = string | number | bigint

/** Tells who the caller is; nobody is `null`. */
export type Identify = (
  request: FastifyRequest,
) => SelfId | null | undefined | PromiseLike<SelfId | null | undefined>

/** Options of the plugin `selfAlias`. */
export interface SelfAliasOptions {
  /**
   * `enforce` puts the caller's id in place of the alias, `report` changes nothing and counts the requests that have an
   * alias, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * The id of the caller's own record; `null` for a caller who is not known, who is answered with 401. It runs after all
   * `onRequest` hooks, and only for requests that have an alias. Needed where any route takes part.
   */
  readonly identify?: Identify
  /**
   * Collections whose records are callers, such as `users`: in each route the first parameter right behind one of them
   * may be an alias. Routes without that take part by `config.selfAlias`.
   * @default []
   */
  readonly collections?: readonly string[]
  /**
   * Segments that stand for the caller's own record. Tell `pathGuard` (`selfAliases`) where they are others.
   * @default ['me', 'self']
   */
  readonly aliases?: readonly string[]
  /**
   * `WWW-Authenticate` of the 401 (RFC 9110 §11.6.1).
   * @default 'Bearer'
   */
  readonly challenge?: string
  /**
   * Request headers that say who the caller is: the `Vary` of what is answered under an alias, so that a browser does not
   * show the record of the account before.
   * @default ['authorization', 'cookie']
   */
  readonly vary?: readonly string[]
  /**
   * Member of a body that holds the id of the record: an alias is refused in it.
   * @default 'id'
   */
  readonly id?: string
}

/** What a route says under `config.selfAlias`, beside `true` and `false`. */
export interface SelfAliasRouteOptions {
  /** The parameter that may be an alias. Default: that behind one of the collections, else the only one. */
  readonly param?: string
  /** What becomes of the alias in this route. */
  readonly mode?: Mode
}

const someAliases: Check<readonly string[]> = (label, received) => {
  const names = listOf(text("a lowercase segment such as 'me'", /^[a-z0-9._~-]+$/))(label, received)
  return names.length === 0 ? invalid(label, 'at least one name', received) : names
}

/** Checks of {@link SelfAliasOptions}. */
export const selfAliasChecks: Checks<SelfAliasOptions> = {
  mode: oneOf(...modes),
  identify: functionOf('a function of the request'),
  collections: listOf(text("a segment such as 'users'", /^[^/:*]+$/)),
  aliases: someAliases,
  challenge: (label, received) =>
    typeof received === 'string' && received.trim() !== '' && isField('www-authenticate', received)
      ? received
      : invalid(label, "a challenge such as 'Bearer'", received),
  vary: listOf(fieldName),
  id: text(),
}

/** What is resolved of the options: all but who the caller is, which nobody can guess. */
export type ResolvedOptions = Required<Omit<SelfAliasOptions, 'identify'>> &
  Pick<SelfAliasOptions, 'identify'>

/** Where nobody said otherwise. */
export const selfAliasDefaults: ResolvedOptions = {
  mode: 'enforce',
  collections: [],
  aliases: ['me', 'self'],
  challenge: 'Bearer',
  vary: ['authorization', 'cookie'],
  id: 'id',
}

const routeChecks = objectOf<SelfAliasRouteOptions>({ param: text(), mode: oneOf(...modes) })

/**
 * What a route says: `null` where it says nothing, `false` where it takes no part.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function readRouteOptions(label: string, received: unknown): SelfAliasRouteOptions | false | null {
  if (received === undefined) return null
  if (received === false) return false
  if (received === true) return {}
  return isObject(received)
    ? routeChecks(label, received)
    : invalid(label, 'an object, true or false', received)
}
