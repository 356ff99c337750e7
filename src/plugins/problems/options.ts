import {
  type Check,
  integer,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { kebabCode } from '../../problem/problem-error.js'
import { defaultStyle } from '../../problem/send-problem.js'
import { modeOption, routeModeOption } from '../../report/modes.js'

const memberName = /^(?!(?:type|title|status|detail|instance|code|errors|__proto__)$)./s

const codes: Check<Readonly<Record<string, number>>> = (label, received) => {
  if (!isObject(received)) return invalid(label, 'an object of codes and their statuses', received)
  for (const [code, status] of Object.entries(received)) {
    if (kebabCode(code) !== code) invalid(label, 'codes in words joined by hyphens', code)
    integer(400, 599)(`${label}.${code}`, status)
  }
  return received as Readonly<Record<string, number>>
}

export const problemsOptions = {
  /**
   * `enforce` answers every error with a problem document, `report` changes nothing and counts the responses that would
   * change, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * The prefix of the `type` of a problem; the code follows. Best is a URL at which the codes are documented.
   * @default 'urn:problem-type:fastify-conventions:'
   */
  typeBase: option(text(), defaultStyle.typeBase),
  /**
   * Whether requests that arrive while the server closes get 503 (`refuse`) or are served (`serve`). In both cases the
   * response ends its connection (RFC 9112 §9.6), so that `app.close()` need not wait for clients. Needs
   * `return503OnClosing: false`, which `serverOptions()` sets; Fastify's own 503 is not a problem document.
   * @default 'refuse'
   */
  whileClosing: option(oneOf('refuse', 'serve'), 'refuse'),
  /**
   * Who answers requests that this package refuses: 404, 405, 406, 412, 415, 428, 429, 503, a path, fields, a method
   * override … `answer` sends a problem, whatever error handler the app has. `errorHandler` passes a `ProblemError` to the
   * error handler of the route, with its status and headers on the reply. Applies in every `mode`.
   * @default 'answer'
   */
  refusals: option(oneOf('answer', 'errorHandler'), defaultStyle.refusals),
  /**
   * What becomes of the errors of the app where it has an error handler or a not-found handler of its own. `leave`: what the
   * handler sends is sent unchanged; the routes are findings, which do not stop the boot. `wrap`: the handler runs, and
   * the status that it sends becomes a problem, with the text of its `detail`, `message` or `error`; so does what a handler
   * of these routes sends without an error, such as `reply.code(409).send({ message })`. Bodies of other types than JSON
   * and `text/plain` are sent unchanged.
   * @default 'leave'
   */
  errorHandler: option(oneOf('leave', 'wrap'), 'leave'),
  /**
   * Members of an earlier error format, for clients that still read them: each problem has them too. `statusCode` is the
   * status, `error` the reason phrase, `message` the text of `detail`. A member that the app has sent in a 4xx keeps its
   * value; one with another name is there only then. Not in the answers of `serverOptions()`.
   * @default []
   */
  keepMembers: option(
    listOf(text('a name that a problem document does not have', memberName)),
    defaultStyle.keepMembers,
  ),
  /**
   * Problem codes that any route of the app may answer, besides those of this package, each with its status:
   * `{ 'database-unavailable': 503 }`. The OpenAPI document lists them.
   * @default none: then the document says that there may be other codes
   */
  codes: optional(codes),
}

export const problemsRouteOptions = {
  /**
   * See {@link ProblemsOptions.mode}.
   * @default that of the plugin
   */
  mode: routeModeOption,
  /**
   * Problem codes that the handler and the hooks of the route may answer, each with its status: `{ 'not-retryable': 409 }`.
   * See {@link ProblemsOptions.codes}; an empty object says that there are none.
   * @default those of the plugin
   */
  codes: optional(codes),
}

/** Options of the plugin `problems`. */
export interface ProblemsOptions extends OptionsOf<typeof problemsOptions> {}

/** Options of a route, under `config.problems`; `false` turns the plugin off for the route. */
export interface ProblemsRouteOptions extends OptionsOf<typeof problemsRouteOptions> {}

/** The options of the plugin, with defaults. */
export type ResolvedProblems = ResolvedOptions<typeof problemsOptions>
