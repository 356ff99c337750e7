import { type Check, type Checks, integer, invalid, isObject, listOf, oneOf, text } from '../../options.js'
import { kebabCode } from '../../problem/problem-error.js'
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
   * them to Fastify. A not-found handler of the app stays in any case, whether it is set before this plugin or after it, and
   * is a finding that does not stop the boot: requests for another method of a known path get its response, not a 405.
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
  /**
   * What becomes of the errors of the app where it has an error handler or a not-found handler of its own. `leave`: what the
   * handler sends is sent unchanged; a finding names the routes, and does not stop the boot. `wrap`: the handler runs, and
   * the status that it sends becomes a problem, with the text of its `detail`, `message` or `error`; so does what a handler
   * of these routes sends without an error, such as `reply.code(409).send({ message })`. Bodies of other types than JSON
   * and `text/plain` are sent unchanged.
   * @default 'leave'
   */
  readonly errorHandler?: 'leave' | 'wrap'
  /**
   * Members of an earlier error format, for clients that still read them: each problem has them too. `statusCode` is the
   * status, `error` the reason phrase, and a name of a text, such as `message`, has the text of `detail`. A member that the
   * app has sent in a 4xx keeps its value; any other, such as `issues`, is there only then. Not in the answers of
   * `serverOptions()`.
   * @default []
   */
  readonly keepMembers?: readonly string[]
  /**
   * Problem codes that any route of the app may answer, besides those of this package, each with its status:
   * `{ 'database-unavailable': 503 }`. The OpenAPI document lists them, and a problem with a code that is neither here nor in
   * `config.problems.codes` is logged once per route and code.
   * @default none: then the document says that there may be other codes
   */
  readonly codes?: Readonly<Record<string, number>>
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
  /**
   * Problem codes that the handler and the hooks of the route may answer, each with its status: `{ 'not-retryable': 409 }`. See
   * {@link ProblemsOptions.codes}; an empty object says that there are none.
   * @default those of the plugin
   */
  readonly codes?: Readonly<Record<string, number>>
}

const memberName = /^(?!(?:type|title|status|detail|instance|code|errors|__proto__)$)./s
const codes: Check<Readonly<Record<string, number>>> = (label, received) => {
  if (!isObject(received)) return invalid(label, 'an object of codes and their statuses', received)
  for (const [code, status] of Object.entries(received)) {
    if (kebabCode(code) !== code) invalid(label, 'codes in words joined by hyphens', code)
    integer(400, 599)(`${label}.${code}`, status)
  }
  return Object.freeze({ ...received }) as Readonly<Record<string, number>>
}

/** The options of the plugin, with defaults. */
export type ResolvedProblems = Required<Omit<ProblemsOptions, 'codes'>> & Pick<ProblemsOptions, 'codes'>

/** Checks of {@link ProblemsOptions}. */
export const problemsChecks: Checks<ProblemsOptions> = {
  mode: oneOf(...modes),
  typeBase: text(),
  retryAfter: integer(1, 86_400),
  notFound: oneOf('answer', 'leave'),
  whileClosing: oneOf('refuse', 'serve'),
  refusals: oneOf('answer', 'errorHandler'),
  errorHandler: oneOf('leave', 'wrap'),
  keepMembers: listOf(text('a name that a problem document does not have', memberName)),
  codes,
}

/** Checks of {@link ProblemsRouteOptions}. */
export const problemsRouteChecks: Checks<ProblemsRouteOptions> = {
  mode: oneOf(...modes),
  codes,
  produces: listOf(text('a media type such as text/csv', /^[^\s/;]+\/[^\s/;]+$/)),
}

/** The defaults of {@link ProblemsOptions}. */
export const problemsDefaults: ResolvedProblems = {
  mode: 'enforce',
  typeBase: defaultStyle.typeBase,
  retryAfter: defaultStyle.retryAfter,
  notFound: 'answer',
  whileClosing: 'refuse',
  refusals: defaultStyle.refusals,
  errorHandler: 'leave',
  keepMembers: defaultStyle.keepMembers,
}
