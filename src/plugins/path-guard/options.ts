import { basePath, type Checks, listOf, oneOf, text } from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleChecks, ruleChecks } from '../../rules/modes.js'
import { type PathRule, pathRuleNames } from './path-rules.js'
import { knownVerbs, type PathVocabulary } from './path-words.js'

/** Options of {@link pathGuard}. */
export interface PathGuardOptions extends RuleOptions<PathRule> {
  /**
   * Status of the answer to a path with uppercase letters or encoded characters.
   * @default 404
   */
  readonly statusCode?: 404 | 400
  /**
   * Path in front of the version if the service is mounted below one, such as `/api`.
   * @default the prefix of the context that registers the plugin, without a version
   */
  readonly basePath?: string
  /**
   * Names of what exists once in its context, such as `leaderboard`, which the `plural` rule accepts besides the built-in
   * ones: `health`, `me`, `profile`, `config`, `cart`, `search` and their like.
   * @default []
   */
  readonly singletons?: readonly string[]
  /**
   * Collection names that all rules accept as they are, such as `merge-requests`.
   * @default []
   */
  readonly collections?: readonly string[]
  /**
   * Verbs of this service's actions that the built-in list does not have.
   * @default []
   */
  readonly verbs?: readonly string[]
  /**
   * `any` allows uppercase letters and encoded characters in the parameters of all routes, for ids that are
   * case-sensitive: ULIDs, nanoids, `cus_NffrFeUfNV2Hib`. Their decoded values are still checked: no control characters, no
   * slashes, no dot segments. Literals stay strict.
   * @default 'lowercase'
   */
  readonly params?: 'lowercase' | 'any'
  /**
   * Segments that stand for the caller's own record: `/v1/users/me`.
   * @default ['me', 'self']
   */
  readonly selfAliases?: readonly string[]
}

/** Options of a route under `config.pathGuard`; `false` turns the guard off for it. */
export interface PathGuardRouteOptions extends RouteRuleOptions<PathRule> {
  /**
   * As the option of the plugin, for this route.
   * @default the option of the plugin
   */
  readonly params?: 'lowercase' | 'any'
}

const params = oneOf('lowercase', 'any')

/** Checks of {@link PathGuardOptions}. */
export const pathGuardChecks: Checks<PathGuardOptions> = {
  ...ruleChecks(pathRuleNames),
  statusCode: oneOf(404, 400),
  basePath,
  singletons: listOf(text()),
  collections: listOf(text()),
  verbs: listOf(text()),
  selfAliases: listOf(text()),
  params,
}

/** Checks of {@link PathGuardRouteOptions}. */
export const pathGuardRouteChecks: Checks<PathGuardRouteOptions> = {
  ...routeRuleChecks(pathRuleNames),
  params,
}

/** Defaults of {@link PathGuardOptions}, but for `basePath`. */
export const pathGuardDefaults: Required<Omit<PathGuardOptions, 'basePath'>> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  statusCode: 404,
  singletons: [],
  collections: [],
  verbs: [],
  selfAliases: ['me', 'self'],
  params: 'lowercase',
}

/** Returns the words that the rules use. */
export function vocabularyOf(options: Required<Omit<PathGuardOptions, 'basePath'>>): PathVocabulary {
  return {
    singletons: new Set(options.singletons),
    collections: new Set(options.collections),
    verbs: new Set([...knownVerbs, ...options.verbs]),
    selfAliases: new Set(options.selfAliases),
  }
}
