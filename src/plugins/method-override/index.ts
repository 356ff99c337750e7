import type { FastifyReply, FastifyRequest } from 'fastify'
import { conventionPlugin } from '../../fastify/plugin.js'
import { discardUnreadBody, markOf, type OverrideMark } from '../../fastify/raw-request.js'
import { addAppHook } from '../../fastify/route.js'
import { resolveOptions } from '../../options.js'
import { refuse } from '../../problem/send-problem.js'
import { reporterOf } from '../../rules/report.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { convertForms } from './convert-form.js'
import { addFormParser } from './form-parser.js'
import { type MethodOverrideOptions, overrideChecks, overrideDefaults } from './options.js'
import { addOverrideScope } from './override-scopes.js'
import { PendingBodies } from './pending-bodies.js'
import { servedBy } from './served-by.js'

export type { MethodOverrideOptions } from './options.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The method that the client sent: `POST` where another one is performed, else the same as `method`. */
    readonly originalMethod: string
  }
}

/**
 * Lets clients that can send nothing but GET and POST use the other methods: a POST with the header
 * `X-HTTP-Method-Override`, or with a field `_method` in a form, is performed as the method that it names. It is that
 * method before it is routed: routes, hooks, validation and logs see nothing else. What the client sent is in
 * `request.originalMethod`, and in the log of the request.
 *
 * A GET is never anything else. In an encapsulated context it counts for all paths below the prefix of that context.
 *
 * Not for an API whose clients all send what they mean: each way to say a thing twice is one more to guard. A form that
 * a page of another origin sends is refused: see the option `formOrigins`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration
 */
export const methodOverride = conventionPlugin<MethodOverrideOptions>(
  'methodOverride',
  function setUpMethodOverride(app, received) {
    const options = resolveOptions('methodOverride', received, overrideChecks, overrideDefaults)
    app.decorateRequest('originalMethod', {
      getter() {
        const mark = markOf(this as FastifyRequest)
        return mark?.kind === 'performed' ? mark.originalMethod : (this as FastifyRequest).method
      },
    })
    const { mode, formTimeout, ...rules } = options
    if (mode === 'off') return
    const reporter = reporterOf(app)
    const bodyLimit = app.initialConfig.bodyLimit ?? defaultBodyLimit
    const limits = { bodies: maxForms, bytes: maxFullForms * bodyLimit, time: formTimeout }
    addOverrideScope(app, {
      ...rules,
      mode,
      header: options.header.toLowerCase(),
      prefix: app.prefix,
      bodyLimit,
      pending: new PendingBodies(limits, scheduleTimeout),
      isServed: servedBy(app, ['POST', ...options.methods]),
      onAbandoned({ method, url }) {
        app.log.info({ method, url }, 'the client gave up before its form was there')
      },
    })
    if (mode === 'enforce' && options.form) {
      addFormParser(app)
      app.addHook('onRoute', (route) => convertForms(route, options.methods))
    }

    addAppHook(app, 'onRequest', 'methodOverride', function overrideOnRequest(request, reply, next) {
      const mark = markOf(request)
      if (mark === undefined) next()
      else {
        discardUnreadBody(request, reply)
        settle(mark, request, reply, next)
      }
    })

    function settle(
      mark: OverrideMark,
      request: FastifyRequest,
      reply: FastifyReply,
      next: (error?: Error) => void,
    ): void {
      if (mark.kind === 'refused' && !takesMore(request, mark.unlessAbove)) {
        // The client may still be sending; HTTP/2 has streams for that, and no such header.
        const { statusCode } = mark.problem
        if ((statusCode === 413 || statusCode === 408) && request.raw.httpVersionMajor < 2)
          reply.header('connection', 'close')
        refuse(request, reply, mark.problem, next)
        return
      }
      if (mark.kind === 'performed') {
        request.log = request.log.child({ originalMethod: mark.originalMethod })
        reply.log = request.log
      } else if (mark.kind === 'observed') {
        reporter.observe('methodOverride', mark.rule, request, mark.given)
      }
      next()
    }
  },
)

// Forms that are read at once: so many, and no more bytes than so many of the largest size have.
const maxForms = 1000
const maxFullForms = 16

// Fastify's own; it is always there in what it tells of itself, but not in its type.
const defaultBodyLimit = 1_048_576

/** Does a route take bodies that are larger than what is searched? Then it is none of this plugin's. */
function takesMore(request: FastifyRequest, limit: number): boolean {
  return !request.is404 && (request.routeOptions.bodyLimit ?? 0) > limit
}
