import type { AnyRequest } from '../../fastify/any-request.js'
import { subjectOf } from '../../fastify/caller.js'
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

/** Returns the id of the caller's record, or a promise of it; `null` if the caller is not known. */
export type Identify = AnyRequest<[], SelfId | null | undefined | PromiseLike<SelfId | null | undefined>>

/** Options of the plugin `selfAlias`. */
export interface SelfAliasOptions {
  /**
   * `enforce` replaces the alias by the caller's id, `report` changes nothing and counts requests with an alias, `off`
   * does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Returns the id of the caller's record; `null` is answered with 401. It runs after all `onRequest` hooks, and only for
   * requests with an alias. If nothing sets `request.caller`, a route that may have an alias is a finding without it.
   * @default the subject of `request.caller`, which `bearer` sets
   */
  readonly identify?: Identify
  /**
   * Collections whose records are callers, such as `users`: in each route, the first parameter directly after one of them
   * may be an alias. Other routes use `config.selfAlias`.
   * @default []
   */
  readonly collections?: readonly string[]
  /**
   * The segments that name the caller's record. Set the option `selfAliases` of `pathGuard` to the same.
   * @default ['me', 'self']
   */
  readonly aliases?: readonly string[]
  /**
   * `WWW-Authenticate` of the 401 (RFC 9110 §11.6.1).
   * @default 'Bearer'
   */
  readonly challenge?: string
  /**
   * Request headers that identify the caller. Responses under an alias have them in `Vary`, so that a browser does not
   * show the record of another account.
   * @default ['authorization', 'cookie']
   */
  readonly vary?: readonly string[]
  /**
   * Member of a body with the id of the record; it may not be an alias.
   * @default 'id'
   */
  readonly id?: string
}

/** Options of a route under `config.selfAlias`, besides `true` and `false`. */
export interface SelfAliasRouteOptions {
  /**
   * The parameter that may be an alias.
   * @default the one directly after a collection, else the only one
   */
  readonly param?: string
  /**
   * Mode of this route.
   * @default that of the plugin
   */
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

/** Defaults of {@link SelfAliasOptions}. */
export const selfAliasDefaults: Required<SelfAliasOptions> = {
  mode: 'enforce',
  identify: subjectOf,
  collections: [],
  aliases: ['me', 'self'],
  challenge: 'Bearer',
  vary: ['authorization', 'cookie'],
  id: 'id',
}

const routeChecks = objectOf<SelfAliasRouteOptions>({ param: text(), mode: oneOf(...modes) })

/**
 * Returns the options of a route: `null` for none, `false` if the plugin leaves it alone.
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
