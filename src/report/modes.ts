import {
  type Check,
  type Checks,
  checksOf,
  each,
  listOf,
  type Option,
  objectOf,
  oneOf,
  option,
  optional,
  text,
} from '../options.js'
import { type AppliedException, type RuleException, ruleException } from './exceptions.js'

/** What happens on a breach: `enforce` refuses it, `report` counts it, `off` does not check. */
export type Mode = 'enforce' | 'report' | 'off'

/** The values of {@link Mode}. */
export const modes = ['enforce', 'report', 'off'] as const

/** The option `mode` of a plugin. */
export const modeOption: Option<Mode> = option(oneOf(...modes), 'enforce')

/** The option `mode` of a route. */
export const routeModeOption: Option<Mode | undefined> = optional(modeOption.check)

/** The options that every plugin with rules has. */
export interface RuleOptions<Rule extends string> {
  /**
   * What happens on a breach: `enforce` fails the boot and refuses requests, `report` counts and logs, `off` does not
   * check.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * The mode of single rules; overrides `mode`.
   * @default {}
   */
  readonly rules?: Readonly<Partial<Record<Rule, Mode>>>
  /**
   * Exceptions for routes whose `config` is out of reach, such as those of another plugin.
   * @default []
   */
  readonly exceptions?: readonly RuleException<Rule>[]
}

/** What a route can set about rules under `config.<plugin>`. */
export interface RouteRuleOptions<Rule extends string> {
  /**
   * The rules that do not apply to this route; requires `reason`.
   * @default []
   */
  readonly except?: readonly Rule[]
  /** Why; the report of the boot shows it. Required with `except`. */
  readonly reason?: string
  /**
   * What happens on a breach on this route.
   * @default the mode of the plugin
   */
  readonly mode?: Mode
  /**
   * The mode of single rules on this route; overrides `mode`.
   * @default {}
   */
  readonly rules?: Readonly<Partial<Record<Rule, Mode>>>
}

/** Returns the options of a convention whose rules have a mode of their own: those of {@link RuleOptions}. */
export function ruleOptions<Rule extends string>(names: readonly Rule[]) {
  const { mode, rules } = modeChecks(names)
  return {
    mode: option(mode, 'enforce'),
    rules: option(rules, {} as Readonly<Partial<Record<Rule, Mode>>>),
    exceptions: option(listOf(ruleException(names)), []),
  }
}

/** Returns the options of a route whose rules have a mode of their own: those of {@link RouteRuleOptions}. */
export function routeRuleOptions<Rule extends string>(names: readonly Rule[]) {
  const { mode, rules } = modeChecks(names)
  return {
    mode: optional(mode),
    rules: optional(rules),
    except: optional(listOf(oneOf(...names))),
    reason: optional(text()),
  }
}

/** Returns the checks of {@link RuleOptions} for a plugin with these rules. */
export function ruleChecks<Rule extends string>(names: readonly Rule[]): Checks<RuleOptions<Rule>> {
  return checksOf(ruleOptions(names))[0]
}

/** Returns the checks of {@link RouteRuleOptions} for a plugin with these rules. */
export function routeRuleChecks<Rule extends string>(names: readonly Rule[]): Checks<RouteRuleOptions<Rule>> {
  return checksOf(routeRuleOptions(names))[0]
}

/** Returns the mode of every rule on a route. */
export function modesOf<Rule extends string>(
  names: readonly Rule[],
  options: Required<Pick<RuleOptions<Rule>, 'mode' | 'rules'>>,
  own: RouteRuleOptions<Rule> | false = {},
  exceptions: readonly AppliedException<Rule>[] = [],
): Readonly<Record<Rule, Mode>> {
  if (own === false) return each(names, 'off')
  const excepted = new Set(exceptions.flatMap(({ except }) => except))
  const entries = names.map((rule): [Rule, Mode] => {
    const mode = own.rules?.[rule] ?? own.mode ?? options.rules[rule] ?? options.mode
    return [rule, excepted.has(rule) ? 'off' : mode]
  })
  return Object.fromEntries(entries) as Record<Rule, Mode>
}

function modeChecks<Rule extends string>(names: readonly Rule[]) {
  const mode: Check<Mode> = oneOf(...modes)
  const rules = objectOf(each(names, mode) as Checks<Partial<Record<Rule, Mode>>>)
  return { mode, rules }
}
