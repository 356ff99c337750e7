import { type Checks, integer, listOf, oneOf, text } from '../../options.js'
import { defaultStyle } from '../../problem/problem-style.js'
import { type Mode, modes } from '../../rules/modes.js'

/** Options of the plugin `problems`. */
export interface ProblemsOptions {
  /**
   * `enforce` answers every error with a problem document, `report` changes nothing and counts the responses that would
   * change, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * The prefix of the `type` of a problem; the code follows. Best is a URL at which the codes are documented.
   * @default 'urn:problem-type:fastify-conventions:'
   */
  readonly typeBase?: string
  /**
   * Seconds in the `Retry-After` of a 503 without one.
   * @default 5
   */
  readonly retryAfter?: number
  /**
   * Who answers requests without a route: `answer` sends 404, 405 with `Allow`, and `OPTIONS` with `Allow`; `leave` leaves
   * them to a not-found handler of the app. A handler that is set before this plugin stays in any case. For one that is set
   * after it in the same context, use `leave`: Fastify takes one handler per context.
   * @default 'answer'
   */
  readonly notFound?: 'answer' | 'leave'
  /**
   * Whether requests that arrive while the server closes get 503 (`refuse`) or are served (`serve`). Needs
   * `return503OnClosing: false`, which `serverOptions()` sets; Fastify's own 503 is not a problem document.
   * @default 'refuse'
   */
  readonly whileClosing?: 'refuse' | 'serve'
  /**
   * Who answers requests that this package refuses: 404, 405, 406, 412, 415, 428, 429, 503, a path, fields, a method
   * override … `answer` sends a problem, whatever error handler the app has. `errorHandler` passes a `ProblemError` to the
   * error handler of the route, with its status and headers on the reply. Applies in every `mode`.
   * @default 'answer'
   */
  readonly refusals?: 'answer' | 'errorHandler'
}

/**
 * Options of a route, under `config.problems`; `false` turns the plugin off for its errors. If the plugin enforces, requests
 * without `Host`, and those that arrive while the server closes, are refused in the format of the route's errors.
 */
export interface ProblemsRouteOptions {
  /**
   * See {@link ProblemsOptions.mode}.
   * @default that of the plugin
   */
  readonly mode?: Mode
  /**
   * Media types that the route produces; a request whose `Accept` has none of them gets 406 before the handler runs.
   * @default those of the response schema; without one, `Accept` is not checked
   */
  readonly produces?: readonly string[]
}

/** Checks of {@link ProblemsOptions}. */
export const problemsChecks: Checks<ProblemsOptions> = {
  mode: oneOf(...modes),
  typeBase: text(),
  retryAfter: integer(1, 86_400),
  notFound: oneOf('answer', 'leave'),
  whileClosing: oneOf('refuse', 'serve'),
  refusals: oneOf('answer', 'errorHandler'),
}

/** Checks of {@link ProblemsRouteOptions}. */
export const problemsRouteChecks: Checks<ProblemsRouteOptions> = {
  mode: oneOf(...modes),
  produces: listOf(text('a media type such as text/csv', /^[^\s/;]+\/[^\s/;]+$/)),
}

/** The defaults of {@link ProblemsOptions}. */
export const problemsDefaults: Required<ProblemsOptions> = {
  mode: 'enforce',
  typeBase: defaultStyle.typeBase,
  retryAfter: defaultStyle.retryAfter,
  notFound: 'answer',
  whileClosing: 'refuse',
  refusals: defaultStyle.refusals,
}
