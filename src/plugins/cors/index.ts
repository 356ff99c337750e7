import type { FastifyInstance } from 'fastify'
import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { headerOf } from '../../fastify/header-of.js'
import { watchNeighbour } from '../../fastify/neighbours.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { corsHook, varyByOrigin, varyByOriginOnSend, withOrigin } from './hooks.js'
import {
  type CorsOptions,
  type CorsRouteOptions,
  corsChecks,
  corsDefaults,
  corsRouteChecks,
  fastifyCorsOptions,
  variesByOrigin,
} from './options.js'

export type {
  CorsOptions,
  CorsOrigin,
  CorsOriginFunction,
  CorsRouteOptions,
} from './options.js'

const neighbour = {
  name: '@fastify/cors',
  isIn: (app: FastifyInstance) => app.hasRequestDecorator('corsPreflightEnabled'),
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The origins whose pages may read responses of this route; `false` for none. */
    cors?: CorsRouteOptions | false
  }
}

/**
 * Lets pages of other origins use the API (Fetch, CORS protocol). @fastify/cors sets the headers. This plugin also exposes
 * the headers of the conventions, allows the methods of a REST API, and adds `Vary: Origin` to every response that can
 * differ by origin, errors, 304 and responses with a `Vary` of their own included. An `OPTIONS` that is not a preflight
 * is served like any other request.
 *
 * No origin is allowed by default; without `origin` the plugin adds nothing and ignores `config.cors`.
 *
 * Not a protection: only browsers follow CORS. Not for an app behind a proxy that answers CORS.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const cors = conventionPlugin<CorsOptions>('cors', async function setUpCors(app, received) {
  const options = resolveOptions('cors', received, corsChecks, corsDefaults)
  const { mode, origin, allowedHeaders, methods, maxAge, optionsSuccessStatus, hideOptionsRoute } = options
  const common = fastifyCorsOptions('cors', options)
  if (origin === false || mode === 'off') return
  const isAnsweredByApp = watchNeighbour(app, neighbour, {
    plugin: 'cors',
    problem: 'answers pages of other origins here: this plugin does not',
    instead: 'one of the two: cors: false, or no @fastify/cors',
  })
  if (mode === 'report') {
    const reporter = reporterOf(app)
    addAppHook(app, 'onRequest', 'cors', function observeOriginOnRequest(request, _reply, next) {
      const { origin: from } = request.headers
      if (from !== undefined && !isAnsweredByApp(request))
        reporter.observe('cors', 'origin', request, `asked from ${from}`, 'header added')
      next()
    })
    if (!variesByOrigin(origin)) return
    addAppHook(app, 'onSend', 'cors', function observeVaryOnSend(request, reply, payload, next) {
      const vary = headerOf(reply, 'vary')
      const effect = vary === undefined ? 'header added' : 'changed'
      if (!isAnsweredByApp(request) && vary !== withOrigin(vary))
        reporter.observe('cors', 'vary', request, 'without Origin in Vary', effect)
      next(null, payload)
    })
    return
  }

  // Both have a route for preflights.
  if (neighbour.isIn(app)) return
  const setHeaders = await corsHook(app, {
    ...common,
    methods: [...methods],
    ...(allowedHeaders === undefined ? {} : { allowedHeaders: [...allowedHeaders] }),
    maxAge,
    optionsSuccessStatus,
    hideOptionsRoute,
  })
  const varies = variesByOrigin(origin)

  addAppHook(app, 'onRequest', 'cors', function corsOnRequest(request, reply, next) {
    // Headers that are the same for all origins are always set: a cache may give the response to a page.
    if ((varies && request.headers.origin === undefined) || isAnsweredByApp(request)) next()
    else setHeaders.call(this, request, reply, next)
  })
  if (varies) {
    addAppHook(app, 'onSend', 'cors', function varyOnSend(request, reply, payload, next) {
      if (isAnsweredByApp(request)) next(null, payload)
      else varyByOriginOnSend(request, reply, payload, next)
    })
  }
  addFrameworkErrorHeaders(app, (request, reply, next) => {
    if (isAnsweredByApp(request)) {
      next()
      return
    }
    if (varies) varyByOrigin(reply)
    // Preflights too: otherwise the browser does not send the request, and its page never gets the error.
    setHeaders.call(app, request, reply, next)
  })

  app.addHook('onRoute', function corsOnRoute(route) {
    const label = `${[route.method].flat().join(', ')} ${route.path} config.cors`
    const { exposedHeaders, credentials } = options
    const resolved = resolveRouteOptions<CorsRouteOptions, Required<CorsRouteOptions>>(
      label,
      route.config?.cors,
      corsRouteChecks,
      { origin, credentials, exposedHeaders },
    )
    if (route.config?.cors === undefined || resolved === false) return
    // @fastify/cors reads this key and merges it over its own options.
    const own = fastifyCorsOptions(label, {
      ...resolved,
      exposedHeaders: [...exposedHeaders, ...resolved.exposedHeaders],
    })
    route.config = Object.assign({}, route.config, { cors: own })
    if (!varies && variesByOrigin(resolved.origin)) {
      addHook(route, 'onSend', 'cors', varyByOriginOnSend)
    }
  })
})
