import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { isPreflight } from '../../fastify/preflight.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { corsHooks, varyByOrigin, varyByOriginOnSend } from './hooks.js'
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may read the answers of this route from another origin; `false` for nobody. */
    cors?: CorsRouteOptions | false
  }
}

/**
 * Lets pages of other origins use the API (Fetch, CORS protocol): @fastify/cors, which exposes the headers
 * of the conventions, allows the methods of a REST API, and says `Vary: Origin` on every answer that can differ, errors,
 * 304 and what the handler has given a `Vary` of its own included. An `OPTIONS` that is no preflight is served as any
 * other request.
 *
 * Nobody is allowed until `origin` says so; without it the plugin adds nothing, and leaves `config.cors` to others.
 *
 * Register it first: a page can read what a later hook answers (a 401, 429 or 503), and not what an earlier one does. Not
 * a protection: who is no browser is not held off. Not where a proxy in front answers CORS.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const cors = conventionPlugin<CorsOptions>('cors', async function setUpCors(app, received) {
  const options = resolveOptions('cors', received, corsChecks, corsDefaults)
  const { mode, origin, allowedHeaders, methods, maxAge, optionsSuccessStatus, hideOptionsRoute } = options
  const common = fastifyCorsOptions('cors', options)
  if (origin === false || mode === 'off') return
  if (mode === 'report') {
    const reporter = reporterOf(app)
    addAppHook(app, 'onRequest', 'cors', function observeOriginOnRequest(request, _reply, next) {
      const { origin: asking } = request.headers
      if (asking !== undefined) reporter.observe('cors', 'origin', request, `asked from ${asking}`)
      next()
    })
    return
  }

  const hooks = await corsHooks(app, {
    ...common,
    methods: [...methods],
    ...(allowedHeaders === undefined ? {} : { allowedHeaders: [...allowedHeaders] }),
    maxAge,
    optionsSuccessStatus,
    hideOptionsRoute,
  })
  const varies = variesByOrigin(origin)

  addAppHook(app, 'onRequest', 'cors', function corsOnRequest(request, reply, next) {
    // What is the same for all may be stored, and then given to a page: only what differs can be left out.
    if (varies && request.headers.origin === undefined) next()
    else (isPreflight(request) ? hooks.preflight : hooks.answer).call(this, request, reply, next)
  })
  if (varies) addAppHook(app, 'onSend', 'cors', varyByOriginOnSend)
  addFrameworkErrorHeaders(app, (request, reply, next) => {
    if (varies) varyByOrigin(reply)
    // A browser that is refused the preflight does not ask, and its page never learns what is wrong.
    const hook = isPreflight(request) ? hooks.preflight : hooks.answer
    hook.call(app, request, reply, next)
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
    // @fastify/cors reads this key, and lays it over its own options.
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
