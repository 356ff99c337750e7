import type { Finding } from '../../rules/findings.js'
import type { ResolvedProblems } from './options.js'

/** A context, as far as its error handler matters. */
interface Context {
  readonly errorHandler: unknown
}

/** A route whose errors this plugin answers, unless a handler of the app does. */
export interface HandledRoute {
  /** Methods and path pattern. */
  readonly name: string
  readonly context: Context
  /** Whether the route itself has an error handler of the app. */
  readonly hasHandler: boolean
  /** Returns the response schemas of the route. */
  readonly response: () => unknown
}

/** The handlers in force when the app gets ready. */
interface Handlers {
  /** The error handler of the context of this plugin. */
  readonly current: unknown
  /** Whether that is the app's. */
  readonly isOfApp: boolean
  readonly notFound: { readonly isOfApp: boolean } | null
}

/** Whether an error handler of the app answers the errors of a route. */
export function hasHandlerOfApp(
  { context, hasHandler }: Pick<HandledRoute, 'context' | 'hasHandler'>,
  { current, isOfApp }: Pick<Handlers, 'current' | 'isOfApp'>,
): boolean {
  return hasHandler || isOfApp || context.errorHandler !== current
}

/** Returns a finding for the routes of each error handler of the app, and one for its not-found handler. */
export function handlerFindings(
  routes: readonly HandledRoute[],
  handlers: Handlers,
  { errorHandler }: ResolvedProblems,
): Pick<Finding, 'rule' | 'route' | 'problem' | 'instead'>[] {
  const ofHandlers = new Map<unknown, Set<string>>()
  for (const route of routes) {
    if (!hasHandlerOfApp(route, handlers)) continue
    const { name, context, hasHandler } = route
    const handler = hasHandler ? name : context.errorHandler
    ofHandlers.set(handler, (ofHandlers.get(handler) ?? new Set()).add(name))
  }
  const findings = [...ofHandlers.values()].map((names) => ({
    rule: 'error-handler',
    route: routeOf([...names]),
    problem: `an error handler of the app answers the errors of ${listed([...names])}`,
    instead: "problems: { errorHandler: 'wrap' }, or remove the handler",
  }))
  const ofUnserved = {
    rule: 'not-found-handler',
    route: '*',
    problem: 'a not-found handler of the app answers paths without a route, and other methods on known paths',
    instead: "remove the handler, or problems: { notFound: 'leave' }",
  }
  return [
    ...(errorHandler === 'leave' ? findings : []),
    ...(handlers.notFound?.isOfApp === true ? [ofUnserved] : []),
  ]
}

function routeOf([only = '*', second]: readonly string[]): string {
  return second === undefined ? only : '*'
}

function listed(names: readonly string[]): string {
  const others = names.length - maxNames
  return names.slice(0, maxNames).join(', ') + (others > 0 ? ` and ${others} more` : '')
}

const maxNames = 20
