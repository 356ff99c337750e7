import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { convention } from '../../convention/convention.js'
import { offerNames } from '../../fastify/offer-names.js'
import { markOf } from '../../fastify/raw-request.js'
import type { RegistrationOptions } from '../../fastify/route-watch.js'
import { invalid } from '../../options.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { addFormParser, addOverrideScope, applyMark, formConverter, routeFinder } from './hooks.js'
import { type MethodOverrideOptions, methodOverrideOptions } from './options.js'
import { overrideHeader } from './override-decision.js'
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
export const methodOverride: FastifyPluginAsync<MethodOverrideOptions & RegistrationOptions> = convention({
  name: 'methodOverride',
  rules: ['performed', 'refused'],
  options: methodOverrideOptions,
  routeOptions: {},
  setUp({ app, options: { mode, methods, form, formTimeout, formOrigins } }) {
    const members = { originalMethod: { get: originalMethod } }
    offerNames(app, { plugin: 'methodOverride', mode, owner: 'request', members })
    app.addHook('onRoute', function refuseRouteOptions({ config, method, path }) {
      const given = (config as { readonly methodOverride?: unknown } | undefined)?.methodOverride
      if (given !== undefined) invalid(`${method} ${path} config.methodOverride`, expectedOfRoutes, given)
    })
    const bodyLimit = app.initialConfig.bodyLimit ?? defaultBodyLimit
    const limits = { bodies: maxForms, bytes: maxFullForms * bodyLimit, time: formTimeout }
    addOverrideScope(app, {
      methods,
      form,
      formOrigins,
      mode,
      prefix: app.prefix,
      bodyLimit,
      pending: new PendingBodies(limits, scheduleTimeout),
      ...routeFinder(app, ['POST', ...methods]),
      onAbandoned({ method, url }) {
        app.log.info({ method, url }, 'the client aborted the request before its form had arrived')
      },
    })
    if (mode === 'enforce' && form) addFormParser(app)
  },
  route({ methods, route, options: { mode, form, methods: targets } }) {
    if (route === null || mode !== 'enforce') return { onRequest: applyMark }
    const performed = methods.filter((method) => targets.includes(method))
    return {
      onRequest: applyMark,
      preValidation: form && performed.length > 0 ? formConverter(route) : undefined,
      describe: descriptionOf(performed, methods),
    }
  },
})

/** What the OpenAPI document shows: the header on a route that a POST may be performed as, the refusals on one with POST. */
function descriptionOf(
  performed: readonly string[],
  methods: readonly string[],
): RouteDescription | undefined {
  if (performed.length > 0) {
    const description =
      'For clients that can only send POST: send POST to this path, with the method in this field'
    return { parameters: { [overrideHeader]: { schema: { type: 'string', enum: performed, description } } } }
  }
  if (!methods.includes('POST')) return undefined
  return {
    problems: problemsOf({
      'method-override-invalid': `${overrideHeader} names no method that a POST may be performed as`,
      'method-not-allowed': `The path has no route for the method in ${overrideHeader}`,
    }),
    headersOf: {
      405: { Allow: { type: 'string', description: 'The methods of the path (RFC 9110 §10.2.1)' } },
    },
  }
}

function originalMethod(this: FastifyRequest): string {
  const mark = markOf(this)
  return mark?.kind === 'performed' ? mark.originalMethod : this.method
}

const expectedOfRoutes = 'none: the method is set before the route is known'

// Limits of the forms that are read at once: their number, and their bytes in forms of the maximum size.
const maxForms = 1000
const maxFullForms = 16

// Fastify's own default. `initialConfig` always has the option, but its type has it as optional.
const defaultBodyLimit = 1_048_576
