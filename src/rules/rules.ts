import { type Check, type Checks, each, invalid, listOf, objectOf, oneOf, text } from '../options.js'
import type { Mode } from './findings.js'
import { modes } from './findings.js'

/** The options that every plugin with rules has. */
export interface RuleOptions<Rule extends string> {
  /**
   * What is done about a breach: `enforce` fails the boot and refuses requests, `report` tells, `off` does not look.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /** The mode of single rules, over `mode`. */
  readonly rules?: Readonly<Partial<Record<Rule, Mode>>>
  /**
   * Exceptions for routes whose `config` is out of reach, such as those of another plugin.
   * @default []
   */
  readonly exceptions?: readonly RuleException<Rule>[]
}

/** An exception for the routes of one path. */
export interface RuleException<Rule extends string> {
  /** Path pattern as it was registered; a final `*` stands for everything below. */
  readonly url: string
  /** The rules that do not hold there. */
  readonly except: readonly Rule[]
  /** Why; the boot report shows it. */
  readonly reason: string
}

/** What a route says of rules under `config.<plugin>`. */
export interface RouteRuleOptions<Rule extends string> {
  /** The rules that do not hold for this route; needs a `reason`. */
  readonly except?: readonly Rule[]
  /** Why; the boot report shows it. */
  readonly reason?: string
  /** What is done about a breach on this route. */
  readonly mode?: Mode
  /** The mode of single rules on this route, over `mode`. */
  readonly rules?: Readonly<Partial<Record<Rule, Mode>>>
}

/** An exception that holds for a route. */
export type HeldException<Rule extends string> = Pick<RuleException<Rule>, 'except' | 'reason'>

/** Checks of {@link RuleOptions}. */
export function ruleChecks<Rule extends string>(names: readonly Rule[]): Checks<RuleOptions<Rule>> {
  return {
    ...modeChecks(names),
    exceptions: listOf((label, received) => checkException(names, label, received)),
  }
}

/** Checks of {@link RouteRuleOptions}. */
export function routeRuleChecks<Rule extends string>(names: readonly Rule[]): Checks<RouteRuleOptions<Rule>> {
  return { ...modeChecks(names), except: listOf(oneOf(...names)), reason: text() }
}

/** The exceptions that hold for a route: those declared for its path, and its own. */
export function exceptionsOf<Rule extends string>(
  path: string,
  label: string,
  own: RouteRuleOptions<Rule> | false,
  declared: readonly RuleException<Rule>[],
): HeldException<Rule>[] {
  const held: HeldException<Rule>[] = declared.filter(({ url }) => matchesUrl(url, path))
  if (own === false || own.except === undefined) return held
  if (own.reason === undefined) return invalid(`${label}.reason`, 'why the route is excepted', own.reason)
  return [...held, { except: own.except, reason: own.reason }]
}

/** The exceptions that are declared for paths which no route has: a typo, or a route that is gone. */
export function unmetExceptions<Rule extends string>(
  declared: readonly RuleException<Rule>[],
  paths: Iterable<string>,
): RuleException<Rule>[] {
  const all = [...paths]
  return declared.filter(({ url }) => !all.some((path) => matchesUrl(url, path)))
}

/** Whether a path pattern is meant by the `url` of an exception; a final `*` stands for everything below. */
export function matchesUrl(url: string, path: string): boolean {
  return url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url
}

/** The mode of every rule on a route. The nearest word counts: exception, route's rule, route, rule, plugin. */
export function modesOf<Rule extends string>(
  names: readonly Rule[],
  options: Required<Pick<RuleOptions<Rule>, 'mode' | 'rules'>>,
  own: RouteRuleOptions<Rule> | false = {},
  exceptions: readonly HeldException<Rule>[] = [],
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

function checkException<Rule extends string>(
  names: readonly Rule[],
  label: string,
  received: unknown,
): RuleException<Rule> {
  const { url, except, reason } = objectOf<Partial<RuleException<Rule>>>({
    url: text("a path such as '/metrics' or '/docs/*'", /^\//),
    except: listOf(oneOf(...names)),
    reason: text(),
  } as Checks<Partial<RuleException<Rule>>>)(label, received)
  if (url === undefined || except === undefined || reason === undefined) {
    return invalid(label, 'an object with url, except and reason', received)
  }
  return { url, except, reason }
}
