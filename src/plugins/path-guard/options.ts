import { basePath, type Checks, listOf, oneOf, text } from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleChecks, ruleChecks } from '../../rules/modes.js'
import { type PathRule, pathRuleNames } from './path-rules.js'

/** Options of {@link pathGuard}. */
export interface PathGuardOptions extends RuleOptions<PathRule> {
  /**
   * Status of the answer to a path with uppercase letters or encoded characters.
   * @default 404
   */
  readonly statusCode?: 404 | 400
  /**
   * Path in front of the version if the service is mounted below one, such as `/api`.
   * @default ''
   */
  readonly basePath?: string
  /**
   * Collection names that the `plural` rule accepts as they are, such as `health`.
   * @default []
   */
  readonly collections?: readonly string[]
  /**
   * Verbs of this service's actions that the built-in list does not have.
   * @default []
   */
  readonly verbs?: readonly string[]
  /**
   * Segments that stand for the caller's own record: `/v1/users/me`.
   * @default ['me', 'self']
   */
  readonly selfAliases?: readonly string[]
}

/** Options of a route under `config.pathGuard`; `false` turns the guard off for it. */
export interface PathGuardRouteOptions extends RouteRuleOptions<PathRule> {
  /**
   * `any` allows uppercase letters and encoded characters in parameters, for ids that are case-sensitive. Their decoded
   * values are still checked: no control characters, no slashes, no dot segments. Literals stay strict.
   * @default 'lowercase'
   */
  readonly params?: 'lowercase' | 'any'
}

/** Checks of {@link PathGuardOptions}. */
export const pathGuardChecks: Checks<PathGuardOptions> = {
  ...ruleChecks(pathRuleNames),
  statusCode: oneOf(404, 400),
  basePath,
  collections: listOf(text()),
  verbs: listOf(text()),
  selfAliases: listOf(text()),
}

/** Checks of {@link PathGuardRouteOptions}. */
export const pathGuardRouteChecks: Checks<PathGuardRouteOptions> = {
  ...routeRuleChecks(pathRuleNames),
  params: oneOf('lowercase', 'any'),
}

/** Defaults of {@link PathGuardOptions}. */
export const pathGuardDefaults: Required<PathGuardOptions> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  statusCode: 404,
  basePath: '',
  collections: [],
  verbs: [],
  selfAliases: ['me', 'self'],
}
