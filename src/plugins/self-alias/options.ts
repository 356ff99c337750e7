import type { AnyRequest } from '../../convention/any-request.js'
import { subjectOf } from '../../convention/caller.js'
import { isField } from '../../http/error-headers.js'
import { fieldName } from '../../http/header-fields.js'
import {
  type Check,
  functionOf,
  invalid,
  listOf,
  type OptionsOf,
  option,
  optional,
  text,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'

/** The id of a record. */
export type SelfId = string | number | bigint

/** Returns the id of the caller's record, or a promise of it; `null` if the caller is not known. */
export type Identify = AnyRequest<[], SelfId | null | undefined | PromiseLike<SelfId | null | undefined>>

const someAliases = listOf(text("a lowercase segment such as 'me'", /^[a-z0-9._~-]+$/), 'at least one name')

const challenge: Check<string> = (label, received) =>
  typeof received === 'string' && received.trim() !== '' && isField('www-authenticate', received)
    ? received
    : invalid(label, "a challenge such as 'Bearer'", received)

export const selfAliasOptions = {
  /**
   * `enforce` replaces the alias by the caller's id, `report` changes nothing and counts requests with an alias, `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Returns the id of the caller's record; `null` is answered with 401. It runs after all `onRequest` hooks, and only for
   * requests with an alias. If nothing sets `request.caller`, a route that may have an alias is a finding without it.
   * @default the subject of `request.caller`, which `bearer` sets
   */
  identify: option(functionOf<Identify>('a function of the request'), subjectOf),
  /**
   * Collections whose records are callers, such as `users`: in each route, the first parameter directly after one of them
   * may be an alias. Other routes use `config.selfAlias`.
   * @default []
   */
  collections: option(listOf(text("a segment such as 'users'", /^[^/:*]+$/)), []),
  /**
   * The segments that name the caller's record. Set the option `selfAliases` of `pathGuard` to the same.
   * @default ['me', 'self']
   */
  aliases: option(someAliases, ['me', 'self']),
  /**
   * `WWW-Authenticate` of the 401 (RFC 9110 §11.6.1).
   * @default 'Bearer'
   */
  challenge: option(challenge, 'Bearer'),
  /**
   * Request headers that identify the caller. Responses under an alias have them in `Vary`, so that a browser does not
   * show the record of another account.
   * @default ['authorization', 'cookie']
   */
  vary: option(listOf(fieldName), ['authorization', 'cookie']),
}

export const selfAliasRouteOptions = {
  /**
   * The parameter that may be an alias.
   * @default the one directly after a collection, else the only one
   */
  param: optional(text()),
  /**
   * Mode of this route.
   * @default that of the plugin
   */
  mode: routeModeOption,
}

/** Options of the plugin `selfAlias`. */
export type SelfAliasOptions = OptionsOf<typeof selfAliasOptions>

/** Options of a route under `config.selfAlias`, besides `true` and `false`. */
export type SelfAliasRouteOptions = OptionsOf<typeof selfAliasRouteOptions>
