import type { FastifyRequest } from 'fastify'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { markOf } from '../../fastify/raw-request.js'
import { addAppHook } from '../../fastify/route.js'
import { resolveOptions } from '../../options.js'
import { routeDescriber } from '../../problem/route-description.js'
import { reporterOf } from '../../rules/report.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { addFormParser, addOverrideScope, convertForms, overrideHook, routeFinder } from './hooks.js'
import { describeOverride } from './openapi.js'
import { type MethodOverrideOptions, overrideChecks, overrideDefaults } from './options.js'
import { PendingBodies } from './read-ahead.js'

export type { MethodOverrideOptions } from './options.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The method that the client sent: `POST` if another one is performed, else the same as `method`. */
    readonly originalMethod: string
  }
}

/**
 * Lets clients that can send only GET and POST use the other methods: a POST with the header `X-HTTP-Method-Override`, or
 * with a field `_method` in a form, is performed as the method that it names. The method is set before routing, so that
 * routes, hooks, validation and logs see no other. The method that the client sent is in `request.originalMethod`, and in
 * the log of the request.
 *
 * A GET is never overridden, and neither is a POST that a proxy passes on: one that only wildcard routes and routes for all
 * methods serve. In an encapsulated context, the plugin serves all paths below the prefix of that context.
 *
 * Not for an API whose clients can send all methods: every second way to send a request has to be protected too. A form
 * from a page of another origin is refused; see the option `formOrigins`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration
 */
export const methodOverride = conventionPlugin<MethodOverrideOptions>(
  'methodOverride',
  function setUpMethodOverride(app, received) {
    const options = resolveOptions('methodOverride', received, overrideChecks, overrideDefaults)
    const { mode, formTimeout, ...rules } = options
    const members = { originalMethod: { get: originalMethod } }
    offerNames(app, { plugin: 'methodOverride', mode, owner: 'request', members })
    if (mode === 'off') return
    const bodyLimit = app.initialConfig.bodyLimit ?? defaultBodyLimit
    const limits = { bodies: maxForms, bytes: maxFullForms * bodyLimit, time: formTimeout }
    addOverrideScope(app, {
      ...rules,
      mode,
      header: options.header.toLowerCase(),
      prefix: app.prefix,
      bodyLimit,
      pending: new PendingBodies(limits, scheduleTimeout),
      ...routeFinder(app, ['POST', ...options.methods]),
      onAbandoned({ method, url }) {
        app.log.info({ method, url }, 'the client aborted the request before its form had arrived')
      },
    })
    if (mode === 'enforce' && options.form) {
      addFormParser(app)
      app.addHook('onRoute', (route) => convertForms(route, options.methods))
    }
    if (mode === 'enforce') {
      const describe = routeDescriber(app)
      app.addHook('onRoute', function describeOverrideOnRoute(route) {
        const description = describeOverride([route.method].flat(), options)
        if (description !== null) describe(route, description)
      })
    }
    addAppHook(app, 'onRequest', 'methodOverride', overrideHook(reporterOf(app)))
  },
)

function originalMethod(this: FastifyRequest): string {
  const mark = markOf(this)
  return mark?.kind === 'performed' ? mark.originalMethod : this.method
}

// Limits of the forms that are read at once: their number, and their bytes in forms of the maximum size.
const maxForms = 1000
const maxFullForms = 16

// Fastify's own default. `initialConfig` always has the option, but its type has it as optional.
const defaultBodyLimit = 1_048_576
