import type { ConventionRegistration, RouteContext } from '../../convention/convention.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import { documentedErrors } from './documented-errors.js'
import type { ErrorHandlers } from './hooks.js'
import type { ResolvedProblems } from './options.js'

/** A route whose errors this plugin answers, unless a handler of the app does. */
export interface HandledRoute extends Pick<RouteContext<unknown, string, unknown>, 'name' | 'app' | 'route'> {
  /** Whether the route itself has an error handler of the app. */
  readonly hasHandler: boolean
}

/** Adds what leaves errors in another format, known when the app gets ready. None of it stops the boot. */
export function addFindings(
  { app, options, addFinding }: ConventionRegistration<ResolvedProblems>,
  routes: readonly HandledRoute[],
  handlers: ErrorHandlers,
): void {
  const add = (route: string, finding: { rule: string; problem: string; instead: string }) =>
    addFinding({ route, mode: 'report', ...finding }, 'none')
  const left = routes.filter(
    ({ app, hasHandler }) => options.errorHandler === 'leave' && handlers.isOfApp(app, hasHandler),
  )
  const [only, second] = left
  if (only !== undefined) {
    const more = left.length > maxNames ? ` and ${left.length - maxNames} more` : ''
    const names = left.slice(0, maxNames).map(({ name }) => name)
    add(second === undefined ? only.name : '*', {
      rule: 'error-handler',
      problem: `an error handler of the app answers the errors of ${names.join(', ')}${more}`,
      instead: "problems: { errorHandler: 'wrap' }, or remove the handler",
    })
  }
  if (options.mode === 'enforce' && handlers.isNotFoundOfApp(app)) {
    add('*', {
      rule: 'not-found-handler',
      problem:
        'a not-found handler of the app answers paths without a route, and other methods on known paths',
      instead: 'remove the handler',
    })
  }
  for (const handled of routes) {
    if (left.includes(handled)) continue
    for (const error of documentedErrors(handled.route && jsonSchemasOf(handled.route)?.response))
      add(handled.name, error)
  }
}

const maxNames = 20
