import { listOf, type OptionsOf, oneOf, option, type ResolvedOptions, text } from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleOptions, ruleOptions } from '../../report/modes.js'
import type { KeyStyle } from '../../words/words.js'
import { defaultUnixTimes } from './words.js'

export const responseRuleNames = ['object', 'envelope', 'keys', 'plural', 'sex', 'dates'] as const

/** Name of a response rule. */
export type ResponseRule = (typeof responseRuleNames)[number]

/** The words of the API and its domain that the rules use. */
export interface ResponseVocabulary {
  readonly keyStyle: KeyStyle
  /** Names of integers that are Unix times; one that begins with `_` matches all names with that ending. */
  readonly unixTimes: readonly string[]
  /** Names that `plural` and `dates` accept as they are. */
  readonly words: ReadonlySet<string>
}

const timeName = text(
  "a name such as 'date', or an ending such as '_at'",
  /^(_[a-z0-9]+(_[a-z0-9]+)*|[A-Za-z]\w*)$/,
)

const ownOptions = {
  /**
   * The style of all keys in the API.
   * @default 'snake_case'
   */
  keyStyle: option(oneOf('snake_case', 'camelCase'), 'snake_case'),
  /**
   * Names, or last words of names, that the rules accept as they are: lists with a singular name (`embedding`), and names
   * that only look like times (`half_time`).
   * @default []
   */
  words: option(listOf(text()), []),
  /**
   * Names of integers that are Unix times, in either key style. One that begins with `_` matches all names with that ending:
   * with `_ts`, an integer `created_at_ts` is allowed.
   * @default ['_unix', '_ts']
   */
  unixTimes: option(listOf(timeName), defaultUnixTimes),
}

export const responseRulesOptions = { ...ruleOptions(responseRuleNames), ...ownOptions }

export const responseRulesRouteOptions = routeRuleOptions(responseRuleNames)

/** Options of {@link responseRules}. */
export interface ResponseRulesOptions extends RuleOptions<ResponseRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.responseRules`; `false` turns the rules off for it. */
export type ResponseRulesRouteOptions = RouteRuleOptions<ResponseRule>

/** Returns the words that the rules use. */
export function vocabularyOf(options: ResolvedOptions<typeof ownOptions>): ResponseVocabulary {
  return { ...options, words: new Set(options.words) }
}
