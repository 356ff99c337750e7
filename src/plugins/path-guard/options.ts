import {
  basePath,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleOptions, ruleOptions } from '../../report/modes.js'
import { type PathRule, pathRuleNames } from './path-rules.js'
import { knownVerbs, type PathVocabulary } from './path-words.js'

const params = oneOf('lowercase', 'any')

const ownOptions = {
  /**
   * Status of the answer to a path with uppercase letters or encoded characters.
   * @default 404
   */
  statusCode: option(oneOf(404, 400), 404),
  /**
   * Path in front of the version if the service is mounted below one, such as `/api`.
   * @default the prefix of the context that registers the plugin, without a version
   */
  basePath: optional(basePath),
  /**
   * Names of what exists once in its context, such as `leaderboard`, which the `plural` rule accepts besides the built-in
   * ones: `health`, `me`, `profile`, `config`, `cart`, `search` and their like.
   * @default []
   */
  singletons: option(listOf(text()), []),
  /**
   * Collection names that all rules accept as they are, such as `merge-requests`.
   * @default []
   */
  collections: option(listOf(text()), []),
  /**
   * Verbs of this service's actions that the built-in list does not have.
   * @default []
   */
  verbs: option(listOf(text()), []),
  /**
   * `any` allows uppercase letters and encoded characters in the parameters of all routes, for ids that are
   * case-sensitive: ULIDs, nanoids, `cus_NffrFeUfNV2Hib`. Their decoded values are still checked: no control characters, no
   * slashes, no dot segments. Literals stay strict.
   * @default 'lowercase'
   */
  params: option(params, 'lowercase'),
  /**
   * Segments that stand for the caller's own record: `/v1/users/me`.
   * @default ['me', 'self']
   */
  selfAliases: option(listOf(text()), ['me', 'self']),
}

const ownRouteOptions = {
  /**
   * As the option of the plugin, for this route.
   * @default the option of the plugin
   */
  params: optional(params),
}

export const pathGuardOptions = { ...ruleOptions(pathRuleNames), ...ownOptions }

export const pathGuardRouteOptions = { ...routeRuleOptions(pathRuleNames), ...ownRouteOptions }

/** Options of {@link pathGuard}. */
export interface PathGuardOptions extends RuleOptions<PathRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.pathGuard`; `false` turns the guard off for it. */
export interface PathGuardRouteOptions
  extends RouteRuleOptions<PathRule>,
    OptionsOf<typeof ownRouteOptions> {}

type Words = Pick<
  ResolvedOptions<typeof pathGuardOptions>,
  'singletons' | 'collections' | 'verbs' | 'selfAliases'
>

export function vocabularyOf(options: Words): PathVocabulary {
  return {
    singletons: new Set(options.singletons),
    collections: new Set(options.collections),
    verbs: new Set([...knownVerbs, ...options.verbs]),
    selfAliases: new Set(options.selfAliases),
  }
}
