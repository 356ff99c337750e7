import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { type ConventionRegistration, convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { checkJsonBodies } from '../../convention/json-bodies.js'
import { declareStyle, sending } from '../../problem/send-problem.js'
import { reporterOf } from '../../report/report.js'
import { producedTypes } from '../../schema/responses.js'
import { errorBodies } from './error-bodies.js'
import { addFindings, type HandledRoute } from './findings.js'
import { errorHandlers, modeOfRoute } from './hooks.js'
import { describeErrors } from './openapi.js'
import {
  type ProblemsOptions,
  type ProblemsRouteOptions,
  problemsOptions,
  problemsRouteOptions,
  type ResolvedProblems,
} from './options.js'
import { admission, negotiation } from './requests.js'

export { isProblemError, ProblemError, type ProblemErrorOptions } from '../../problem/problem-error.js'
export type { ProblemsOptions, ProblemsRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options for the errors of this route; `false` turns the plugin off. */
    problems?: ProblemsRouteOptions | false
  }
}

/**
 * Answers every error with a problem document (RFC 9457), whatever the client accepts: errors that are thrown, validation
 * errors with JSON Pointers, 404, 405 with `Allow`, 406, 413, 415 with `Accept-Patch`, and error bodies that a handler
 * sends itself. The cause of a 5xx is in the log only, under the request id that the client gets.
 *
 * Error handlers of the app have precedence for errors of the app. Refusals by this package and by Fastify are answered
 * here, see {@link ProblemsOptions.refusals}. So is a `ProblemError` that a handler of the app does not know: it answers
 * 500 to a problem of another status, or passes the error on. Errors that no hook sees (a malformed URL, a broken request
 * line) need `serverOptions()`. Streams are sent unchanged.
 *
 * Not for an app whose clients depend on another error format: start with `mode: 'report'`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const problems: FastifyPluginAsync<ProblemsOptions & RegistrationOptions> = convention({
  name: 'problems',
  rules: ['server', 'header-fields', 'accept', 'content', 'body'],
  options: problemsOptions,
  routeOptions: problemsRouteOptions,
  setUp(registration) {
    const { app, options, atReady } = registration
    const routes: HandledRoute[] = []
    const contexts = new Set<FastifyInstance>()
    const handlers = errorHandlers(app, options, contexts)
    declareStyle(app, options)
    sending.declare(app)
    if (options.mode === 'enforce') {
      app.addHook('onReady', (done) => {
        passOnAll(app)
        done()
      })
    }
    atReady(function checkApp() {
      addFindings(registration, routes, handlers)
      for (const context of contexts) {
        checkJsonBodies(context, (request) => modeOfRoute.of(request) ?? 'off', reporterOf(app))
      }
    })
    return {
      handlers,
      routes,
      contexts,
      codes: options.codes,
      admit: admission(closingOf(registration)),
      rewrite: errorBodies(handlers, options),
    }
  },
  route({ app, name, route, methods, options, isHeadSibling, exclusionReason, state }) {
    const { handlers, routes, contexts, admit, rewrite } = state
    const steps = { onRequest: admit, onSend: rewrite }
    const { mode } = options
    if (route === null) return mode === 'off' ? undefined : steps
    const hasHandler = handlers.note(route, mode)
    if (mode === 'off') return undefined
    contexts.add(app)
    if (!isHeadSibling && exclusionReason === null) routes.push({ name, app, route, hasHandler })
    const produced = producedTypes(route.schema?.response)
    const plan = { ...steps, preParsing: negotiation(produced) }
    if (mode === 'report') return plan
    route.errorHandler = handlers.ofRoute(route.errorHandler)
    const codes = (options.codes ?? state.codes) === undefined ? null : { ...state.codes, ...options.codes }
    // Not in the type.
    const { handlerTimeout: ofServer = 0 } = app.initialConfig as { readonly handlerTimeout?: number }
    const hasTimeout = (route.handlerTimeout ?? ofServer) > 0
    return { ...plan, describe: describeErrors(route, methods, produced, codes, hasTimeout) }
  },
})

function closingOf({ app, options }: ConventionRegistration<ResolvedProblems>): () => boolean {
  let isClosing = false
  app.addHook('preClose', function noteClosing(done) {
    isClosing = options.whileClosing === 'refuse'
    done()
  })
  return () => isClosing
}

/** Makes Node.js pass on requests with an unknown `Expect`, and all header fields: it ignores those after the 1,000th. */
function passOnAll({ server, initialConfig }: FastifyInstance): void {
  if (server.listenerCount('checkExpectation') === 0) {
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      server.emit('request', request, response)
    })
  }
  // HTTP/2 has its own limit.
  if (initialConfig.http2 !== true) server.maxHeadersCount ??= 0
}
