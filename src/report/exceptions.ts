import type { RouteOptions } from 'fastify'
import { type Check, type Checks, invalid, listOf, objectOf, oneOf, text } from '../options.js'

/** An exception for the routes of one path. */
export interface RuleException<Rule extends string> {
  /** Path pattern as it was registered; a final `/*` stands for the path before it and everything below. */
  readonly url: string
  /** The rules that do not apply there. */
  readonly except: readonly Rule[]
  /** Why; the report of the boot shows it. */
  readonly reason: string
}

/** An exception that applies to a route. */
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

/** Returns a check of {@link RouteException} for these names. */
export function routeException<Name extends string>(names: readonly Name[]): Check<RouteException<Name>> {
  return exceptionOf(names, ['url', 'reason'], 'an object with url and reason')
}

/** Returns a check of {@link RuleException} for a plugin with these rules. */
export function ruleException<Rule extends string>(names: readonly Rule[]): Check<RuleException<Rule>> {
  const check = exceptionOf(names, ['url', 'except', 'reason'], 'an object with url, except and reason')
  return check as Check<RuleException<Rule>>
}

function exceptionOf<Name extends string>(
  names: readonly Name[],
  required: readonly (keyof RuleException<Name>)[],
  expected: string,
): Check<RouteException<Name>> {
  const checkMembers = objectOf<Partial<RuleException<Name>>>({
    url: text("a path such as '/metrics' or '/docs/*'", /^\//),
    reason: text(),
    except: listOf(oneOf(...names)),
  } as Checks<Partial<RuleException<Name>>>)
  return (label, received) => {
    const exception = checkMembers(label, received)
    const isWhole = required.every((member) => exception[member] !== undefined)
    return isWhole ? (exception as RouteException<Name>) : invalid(label, expected, received)
  }
}

/** Returns the exceptions that apply to a route: those declared for its path, and its own. */
export function exceptionsOf<Rule extends string>(
  path: string,
  label: string,
  own: Partial<AppliedException<Rule>> | false,
  declared: readonly RuleException<Rule>[],
): AppliedException<Rule>[] {
  const applied: AppliedException<Rule>[] = declared.filter(({ url }) => matchesUrl(url, path))
  if (own === false || own.except === undefined) return applied
  if (own.reason === undefined) return invalid(`${label}.reason`, 'the reason for the exception', own.reason)
  return [...applied, { except: own.except, reason: own.reason }]
}

/** Returns the exceptions whose path no route has, because of a typo or because the route is gone. */
export function unmatchedExceptions<Rule extends string>(
  declared: readonly RuleException<Rule>[],
  paths: Iterable<string>,
): RuleException<Rule>[] {
  const all = [...paths]
  return declared.filter(({ url }) => !all.some((path) => matchesUrl(url, path)))
}

/** Whether the `url` of an exception matches a path pattern. */
export function matchesUrl(url: string, path: string): boolean {
  if (!url.endsWith('*')) return path === url
  return path.startsWith(url.slice(0, -1)) || (url.endsWith('/*') && path === url.slice(0, -2))
}

const methodsOfApi = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Whether one handler serves the methods that an API gives different meanings. */
export function servesAllMethods(methods: readonly string[]): boolean {
  return methodsOfApi.every((method) => methods.includes(method))
}

/** Returns why no rule of shape applies to a route: it does not send the API's JSON. `null` for a route of the API. */
export function exclusionReasonOf(route: RouteOptions & { path: string }): string | null {
  return foreignReasonOf(route) ?? hiddenReasonOf(route)
}

/** Returns why a route is known to send other content than the API's JSON; `null` if it may send that. */
export function nonJsonReasonOf(route: RouteOptions & { path: string }): string | null {
  return streamReasonOf(route) ?? hiddenReasonOf(route)
}

/**
 * Returns why a route may send what is not the app's own: files, the messages of a WebSocket, what is behind a proxy. A
 * route that the document does not show is not one of these: what is about transport and trust is kept there.
 */
export function foreignReasonOf(route: RouteOptions & { path: string }): string | null {
  const isProxy = servesAllMethods([route.method].flat())
  return streamReasonOf(route) ?? (isProxy ? 'a route for all methods: a proxy' : null)
}

/** Whether the OpenAPI document does not show a route. */
export function isHidden({ schema }: Pick<RouteOptions, 'schema'>): boolean {
  return schema !== undefined && 'hide' in schema && schema.hide === true
}

/** Why no rule of shape applies to a route that the OpenAPI document does not show. */
export const hiddenReason = 'hidden from the OpenAPI document: not part of the API'

function hiddenReasonOf(route: RouteOptions): string | null {
  return isHidden(route) ? hiddenReason : null
}

function streamReasonOf(route: RouteOptions & { path: string }): string | null {
  if (route.path.includes('*')) return 'a wildcard route: files or a proxy'
  return 'websocket' in route && route.websocket === true ? 'a WebSocket route' : null
}
