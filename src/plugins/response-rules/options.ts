import { type Checks, listOf, oneOf, text } from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleChecks, ruleChecks } from '../../rules/modes.js'
import type { KeyStyle } from '../../words/key-names.js'
import { type ResponseRule, type ResponseVocabulary, responseRuleNames } from './response-rules.js'
import { defaultTimeNames, defaultUnixTimes } from './times.js'

/** Options of {@link responseRules}. */
export interface ResponseRulesOptions extends RuleOptions<ResponseRule> {
  /**
   * The style of all keys in the API.
   * @default 'snake_case'
   */
  readonly keyStyle?: KeyStyle
  /**
   * Names, or last words of names, that the rules accept as they are: lists with a singular name (`embedding`), and names
   * that only look like times (`half_time`).
   * @default []
   */
  readonly words?: readonly string[]
  /**
   * The values that `sex` may have, in any case.
   * @default ['male', 'female', 'intersex', 'unknown']
   */
  readonly sexValues?: readonly string[]
  /**
   * Names of members that are times. A name that begins with `_` matches all names with that ending, in both key styles:
   * `_at` matches `created_at` and `createdAt`.
   * @default ['_at', '_time', '_date', '_datetime', '_timestamp', 'date', 'datetime', 'timestamp']
   */
  readonly timeNames?: readonly string[]
  /**
   * Names of integers that are Unix times, in the same form: with `_ts`, an integer `created_at_ts` is allowed.
   * @default ['_unix', '_ts']
   */
  readonly unixTimes?: readonly string[]
}

/** Options of a route under `config.responseRules`; `false` turns the rules off for it. */
export type ResponseRulesRouteOptions = RouteRuleOptions<ResponseRule>

const timeName = text(
  "a name such as 'date', or an ending such as '_at'",
  /^(_[a-z0-9]+(_[a-z0-9]+)*|[A-Za-z]\w*)$/,
)

/** Checks of {@link ResponseRulesOptions}. */
export const responseRulesChecks: Checks<ResponseRulesOptions> = {
  ...ruleChecks(responseRuleNames),
  keyStyle: oneOf('snake_case', 'camelCase'),
  words: listOf(text()),
  sexValues: listOf(text()),
  timeNames: listOf(timeName),
  unixTimes: listOf(timeName),
}

/** Checks of {@link ResponseRulesRouteOptions}. */
export const responseRulesRouteChecks: Checks<ResponseRulesRouteOptions> = routeRuleChecks(responseRuleNames)

/** Defaults of {@link ResponseRulesOptions}. */
export const responseRulesDefaults: Required<ResponseRulesOptions> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  keyStyle: 'snake_case',
  words: [],
  sexValues: ['male', 'female', 'intersex', 'unknown'],
  timeNames: defaultTimeNames,
  unixTimes: defaultUnixTimes,
}

/** Returns the words that the rules use. */
export function vocabularyOf(options: Required<ResponseRulesOptions>): ResponseVocabulary {
  return {
    keyStyle: options.keyStyle,
    words: new Set(options.words),
    sexes: options.sexValues,
    timeNames: options.timeNames,
    unixTimes: options.unixTimes,
  }
}
