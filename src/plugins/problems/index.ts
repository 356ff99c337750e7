import type { FastifyInstance } from 'fastify'
import { Admission, admissionOfRoute } from '../../fastify/admission.js'
import { documentRoute, isDescribed } from '../../fastify/document.js'
import { EmptyBodies } from '../../fastify/empty-body.js'
import {
  hasErrorHandler,
  hasSchemaErrorFormatter,
  headSiblings,
  setReplaceableErrorHandler,
} from '../../fastify/internals.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { countContent, RequestContent } from '../../fastify/request-content.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { jsonSchemasOf } from '../../fastify/route-schemas.js'
import { checkWire } from '../../fastify/wire-checks.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { producedTypes } from '../../json-schema/responses.js'
import { checksOf, resolveOptions, resolveRouteOptions } from '../../options.js'
import { declareStyle, refusalsOfRoute } from '../../problem/problem-style.js'
import { refuseThrown, sending } from '../../problem/send-problem.js'
import { validationMessage } from '../../problem/validation-issues.js'
import { exclusionReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { documentedErrors } from './documented-errors.js'
import { type HandledRoute, handlerFindings, hasHandlerOfApp } from './handler-findings.js'
import {
  answerNotFound,
  describesProblem,
  errorBodyHook,
  errorHandler,
  type Handlers,
  hasOwnHandler,
  modeOf,
  modeOfRoute,
  passedOn,
  routeErrorHandler,
} from './hooks.js'
import { describeErrors } from './openapi.js'
import {
  type ProblemsOptions,
  type ProblemsRouteOptions,
  problemsOptions,
  problemsRouteOptions,
} from './options.js'

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
export const problems = conventionPlugin<ProblemsOptions>('problems', function setUpProblems(app, received) {
  const [checks, defaults] = checksOf(problemsOptions)
  const [routeChecks] = checksOf(problemsRouteOptions)
  const options = resolveOptions<object, typeof defaults>('problems', received, checks, defaults)
  const reporter = reporterOf(app)
  const enforces = options.mode === 'enforce'
  const admission = new Admission({ retryAfter: options.retryAfter, mode: options.mode, reporter })
  const patchContexts = new Set<FastifyInstance>()
  const before = app.errorHandler
  const handlers: Handlers = { before, isOfApp: hasErrorHandler(app), current: before, notFound: null }
  const handleError = errorHandler(app, options, handlers, reporter)
  const errorHandlerOf = routeErrorHandler(options, handlers, handleError)
  const rewriteErrorBody = errorBodyHook(options, handlers, reporter)

  declareStyle(app, options)
  sending.declare(app)
  passedOn.declare(app)
  admission.install(app)
  if (enforces && !handlers.isOfApp) setReplaceableErrorHandler(app, handleError)
  handlers.current = app.errorHandler
  if (enforces && options.notFound === 'answer') {
    handlers.notFound = answerNotFound(app, errorHandlerOf(undefined), patchContexts)
  }
  // A formatter of the app stays, whether it is set before or after.
  if (enforces && !hasSchemaErrorFormatter(app)) {
    app.setSchemaErrorFormatter((faults, part) => new Error(validationMessage(faults, part)))
  }
  app.addHook('preClose', function noteClosing(done) {
    admission.closing = options.whileClosing === 'refuse'
    done()
  })

  const handled: HandledRoute[] = []
  const isHeadSibling = headSiblings(app)
  reporter.checkAtReady(function findHandlers() {
    const findings = handlerFindings(handled, handlers, options)
    for (const finding of findings)
      reporter.addFinding({ plugin: 'problems', mode: 'report', ...finding }, 'none')
    for (const route of handled) {
      // Otherwise the format is that of the app.
      if (options.errorHandler === 'leave' && hasHandlerOfApp(route, handlers)) continue
      for (const error of documentedErrors(route.response()))
        reporter.addFinding({ plugin: 'problems', mode: 'report', route: route.name, ...error }, 'none')
    }
  })

  // Not in the type.
  const { handlerTimeout: serverTimeout = 0 } = app.initialConfig as { readonly handlerTimeout?: number }
  const content = new RequestContent((request) => modeOf(request, options) === 'enforce')
  const emptyBodies = new EmptyBodies()
  app.addHook('onRoute', function problemsOnRoute(route) {
    const methods = [route.method].flat()
    const name = `${methods.join(', ')} ${route.path}`
    const isOfGet = isHeadSibling(route)
    const own = resolveRouteOptions<ProblemsRouteOptions, ProblemsRouteOptions>(
      `${name} config.problems`,
      route.config?.problems,
      routeChecks,
      {},
    )
    if (methods.includes('PATCH')) patchContexts.add(this)
    const mode = own === false ? 'off' : (own.mode ?? options.mode)
    const produced =
      (own !== false && own.produces?.map(mediaTypeOf)) || producedTypes(route.schema?.response)
    const hasHandler = route.errorHandler !== undefined && route.errorHandler !== refuseThrown
    admissionOfRoute.set(route, mode)
    // A route whose errors are not answered here gets refusals in the format of its other errors.
    refusalsOfRoute.set(route, enforces && mode !== 'enforce' ? 'errorHandler' : options.refusals)
    modeOfRoute.set(route, mode)
    hasOwnHandler.set(route, handlers.isOfApp || hasHandler)
    if (mode === 'off') return
    if (produced !== null) admission.judgeAccept(route, mode, produced)
    if (mode === 'report') countContent(route, reporter)
    if (!isOfGet && exclusionReasonOf(route) === null) {
      handled.push({ name, context: this, hasHandler, response: () => jsonSchemasOf(route)?.response })
    }
    if (mode === 'enforce') {
      const ofRoute = own === false ? undefined : own.codes
      const codes = (ofRoute ?? options.codes) === undefined ? null : { ...options.codes, ...ofRoute }
      if (codes !== null) describesProblem.set(route, (status, code) => isDescribed(route, status, code))
      documentRoute(this, route, 'problems', () => ({
        describe: describeErrors({
          methods,
          path: route.path,
          schema: route.schema ?? {},
          produced,
          codes,
          hasTimeout: (route.handlerTimeout ?? serverTimeout) > 0,
        }),
      }))
      route.errorHandler = errorHandlerOf(route.errorHandler)
      emptyBodies.addRoute(this, route)
      content.addRoute(this, route)
    }
    if (options.mode === 'off') addHook(route, 'onSend', 'problems', rewriteErrorBody)
  })
  if (options.mode !== 'off') addAppHook(app, 'onSend', 'problems', rewriteErrorBody)
  if (enforces) checkWire(app, options.typeBase)
  app.addHook('onReady', function prepareContent(done) {
    // Before the parsers of the app are replaced.
    emptyBodies.prepare()
    content.prepare()
    done()
  })
})
