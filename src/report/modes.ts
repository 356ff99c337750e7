import type { RouteOptions } from 'fastify'
import {
  type Check,
  type Checks,
  each,
  invalid,
  listOf,
  type Option,
  type OptionsOf,
  objectOf,
  oneOf,
  option,
  optional,
  text,
} from '../options.js'

/** What happens on a breach: `enforce` refuses it, `report` counts it, `off` does not check. */
export type Mode = 'enforce' | 'report' | 'off'

export const modes = ['enforce', 'report', 'off'] as const

export const modeOption: Option<Mode> = option(oneOf(...modes), 'enforce')

export const routeModeOption: Option<Mode | undefined> = optional(modeOption.check)

/** The options of a route whose only option is the mode; others begin with them. */
export const routeMode = {
  /**
   * The mode of this route; `off` is the same as `false`.
   * @default the mode of the plugin
   */
  mode: routeModeOption,
}

/** Returns the options of a convention whose rules have a mode of their own. */
export function ruleOptions<Rule extends string>(names: readonly Rule[]) {
  const exception = exceptionOf(names, ['url', 'except', 'reason'])
  return {
    /**
     * What happens on a breach: `enforce` fails the boot and refuses requests, `report` counts and logs, `off` does not
     * check.
     * @default 'enforce'
     */
    mode: modeOption,
    /**
     * The mode of single rules; overrides `mode`.
     * @default {}
     */
    rules: option(modesByRule(names), {} as Readonly<Partial<Record<Rule, Mode>>>),
    /**
     * Exceptions for routes whose `config` is out of reach, such as those of another plugin.
     * @default []
     */
    exceptions: option<readonly RuleException<Rule>[]>(listOf(exception), []),
  }
}

/** The options that every plugin with rules has. */
export interface RuleOptions<Rule extends string> extends OptionsOf<ReturnType<typeof ruleOptions<Rule>>> {}

/** Returns the options of a route whose rules have a mode of their own. */
export function routeRuleOptions<Rule extends string>(names: readonly Rule[]) {
  return {
    /**
     * The rules that do not apply to this route; requires `reason`.
     * @default []
     */
    except: optional(listOf(oneOf(...names))),
    /** Why; the report of the boot shows it. Required with `except`. */
    reason: optional(text()),
    /**
     * What happens on a breach on this route.
     * @default the mode of the plugin
     */
    mode: routeModeOption,
    /**
     * The mode of single rules on this route; overrides `mode`.
     * @default {}
     */
    rules: optional(modesByRule(names)),
  }
}

/** What a route can set about rules under `config.<plugin>`. */
export interface RouteRuleOptions<Rule extends string>
  extends OptionsOf<ReturnType<typeof routeRuleOptions<Rule>>> {}

function modesByRule<Rule extends string>(
  names: readonly Rule[],
): Check<Readonly<Partial<Record<Rule, Mode>>>> {
  return objectOf(each(names, modeOption.check) as Checks<Partial<Record<Rule, Mode>>>)
}

export function modesOf<Rule extends string>(
  names: readonly Rule[],
  options: Required<Pick<RuleOptions<Rule>, 'mode' | 'rules'>>,
  own: RouteRuleOptions<Rule> = {},
  exceptions: readonly AppliedException<Rule>[] = [],
): Readonly<Record<Rule, Mode>> {
  const excepted = new Set(exceptions.flatMap(({ except }) => except))
  const entries = names.map((rule): [Rule, Mode] => {
    const mode = own.rules?.[rule] ?? own.mode ?? options.rules[rule] ?? options.mode
    return [rule, excepted.has(rule) ? 'off' : mode]
  })
  return Object.fromEntries(entries) as Record<Rule, Mode>
}

/** An exception from rules for the routes of one path. */
export interface RuleException<Rule extends string> extends RouteException<Rule> {
  /** The rules that do not apply there. */
  readonly except: readonly Rule[]
}

export type AppliedException<Rule extends string> = Pick<RuleException<Rule>, 'except' | 'reason'>

/** An exception for the routes of one path, from all rules unless it names some. */
export interface RouteException<Name extends string> {
  /** Path pattern as it was registered, such as `/metrics`. `/admin/*` stands for `/admin` and everything below. */
  readonly url: string
  /** Why; the report of the boot shows it. */
  readonly reason: string
  /**
   * The conventions or rules that do not apply there.
   * @default all
   */
  readonly except?: readonly Name[]
}

export const exceptionChecks = { url: text("a path such as '/metrics' or '/docs/*'", /^\//), reason: text() }

export function routeException<Name extends string>(names: readonly Name[]): Check<RouteException<Name>> {
  return exceptionOf(names, ['url', 'reason'])
}

function exceptionOf<Name extends string, Needed extends keyof RuleException<Name>>(
  names: readonly Name[],
  needed: readonly Needed[],
) {
  const checks = { ...exceptionChecks, except: listOf(oneOf(...names)) }
  return objectOf<Partial<RuleException<Name>>, Needed>(checks, needed)
}

/** Returns the exceptions that apply to a route: those declared for its path, and its own. */
export function exceptionsOf<Rule extends string>(
  path: string,
  label: string,
  own: Partial<AppliedException<Rule>>,
  declared: readonly RuleException<Rule>[],
): AppliedException<Rule>[] {
  const applied: AppliedException<Rule>[] = declared.filter(({ url }) => matchesUrl(url, path))
  if (own.except === undefined) return applied
  if (own.reason === undefined) return invalid(`${label}.reason`, 'the reason for the exception', own.reason)
  return [...applied, { except: own.except, reason: own.reason }]
}

export function matchesUrl(url: string, path: string): boolean {
  if (!url.endsWith('*')) return path === url
  return path.startsWith(url.slice(0, -1)) || (url.endsWith('/*') && path === url.slice(0, -2))
}

const methodsOfApi = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Whether one handler serves the methods that an API gives different meanings. */
export function servesAllMethods(methods: readonly string[]): boolean {
  return methodsOfApi.every((method) => methods.includes(method))
}

type Route = RouteOptions & { readonly path: string }

/** Returns why no rule of shape applies to a route: it does not send the API's JSON. `null` for a route of the API. */
export function exclusionReasonOf(route: Route): string | null {
  return foreignReasonOf(route) ?? (isHidden(route) ? hiddenReason : null)
}

/** Returns why a route is known to send other content than the API's JSON; `null` if it may send that. */
export function nonJsonReasonOf(route: Route): string | null {
  return streamReasonOf(route) ?? (isHidden(route) ? hiddenReason : null)
}

/**
 * Returns why a route may send what is not the app's own: files, the messages of a WebSocket, what is behind a proxy. A
 * route that the document does not show is not one of these: what is about transport and trust is kept there.
 */
export function foreignReasonOf(route: Route): string | null {
  const isProxy = servesAllMethods([route.method].flat())
  return streamReasonOf(route) ?? (isProxy ? 'a route for all methods: a proxy' : null)
}

export function isHidden({ schema }: Pick<RouteOptions, 'schema'>): boolean {
  return schema !== undefined && 'hide' in schema && schema.hide === true
}

/** Why no rule of shape applies to a route that the OpenAPI document does not show. */
export const hiddenReason = 'hidden from the OpenAPI document: not part of the API'

function streamReasonOf(route: Route): string | null {
  if (route.path.includes('*')) return 'a wildcard route: files or a proxy'
  return 'websocket' in route && route.websocket === true ? 'a WebSocket route' : null
}
