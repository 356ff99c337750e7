import { Server as TlsServer } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { serverSettings } from '../../fastify/internals.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { routeDescriber } from '../../problem/route-description.js'
import type { Mode } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { httpsHook } from './hooks.js'
import { plainRefused } from './openapi.js'
import {
  type HttpsOnlyOptions,
  type HttpsOnlyRouteOptions,
  httpsOnlyChecks,
  httpsOnlyDefaults,
  httpsOnlyRouteChecks,
} from './options.js'

export type { HttpsOnlyOptions, HttpsOnlyRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link httpsOnly} for this route; `false` lets it serve plain HTTP. */
    httpsOnly?: HttpsOnlyRouteOptions | false
  }
}

/** The mode of a route that has one of its own. */
const modeOfRoute = routeSlot<Mode>('httpsOnly.mode')

/**
 * Refuses requests over plain HTTP with 403 `https-required`, on known and unknown paths, before any authentication and
 * handler. It does not redirect: a token or a body that came over plain HTTP has been sent in the clear already, and a
 * client that follows redirects would go on doing so unnoticed.
 *
 * `request.protocol` decides: TLS of this server, over HTTP/1.1 and HTTP/2, or with `trustProxy` of Fastify the
 * `X-Forwarded-Proto` of the proxy. An app that can have neither fails the boot, because every request would be refused.
 * `localhost` is treated like any other host.
 *
 * Not for an app whose proxy already refuses plain HTTP.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const httpsOnly = conventionPlugin<HttpsOnlyOptions>(
  'httpsOnly',
  function setUpHttpsOnly(app, received) {
    const options = resolveOptions('httpsOnly', received, httpsOnlyChecks, httpsOnlyDefaults)
    const { mode, except } = options
    if (mode === 'off') return
    const reporter = reporterOf(app)
    const paths = new Set<string>()
    // Reading the route of a request takes time, so it is read only if a route has a mode of its own.
    let hasOwn = false
    const modeOf = (request: FastifyRequest): Mode => (hasOwn ? modeOfRoute.of(request) : undefined) ?? mode
    addAppHook(app, 'onRequest', 'httpsOnly', httpsHook(new Set(except), modeOf, reporter))

    const describe = routeDescriber(app)
    app.addHook('onRoute', function httpsOnlyOnRoute(route) {
      const name = `${[route.method].flat().join(', ')} ${route.path}`
      paths.add(route.path)
      const given = route.config?.httpsOnly
      if (given === undefined) {
        if (mode === 'enforce' && !except.includes(route.path)) describe(route, plainRefused)
        return
      }
      const label = `${name} config.httpsOnly`
      const own = resolveRouteOptions<HttpsOnlyRouteOptions, Required<HttpsOnlyRouteOptions>>(
        label,
        given,
        httpsOnlyRouteChecks,
        { mode },
      )
      const ownMode = own === false ? 'off' : own.mode
      hasOwn = true
      modeOfRoute.set(route, ownMode)
      if (ownMode === 'enforce') describe(route, plainRefused)
      if (ownMode === 'off') addException(name, 'config.httpsOnly is false', false)
    })

    reporter.checkAtReady(function checkHttps() {
      for (const path of except) addException(path, 'listed in httpsOnly.except', !paths.has(path))
      const { trustProxy, hasServerFactory } = serverSettings(app)
      if (trustProxy || hasServerFactory || app.server instanceof TlsServer) return
      reporter.addFinding({
        plugin: 'httpsOnly',
        rule: 'plain',
        route: '*',
        problem: 'every request would be refused: the server has no TLS, and trustProxy is off',
        instead: 'https of Fastify(), or trustProxy if a proxy ends TLS',
        mode,
      })
    })

    function addException(route: string, reason: string, unused: boolean): void {
      reporter.addException({ plugin: 'httpsOnly', route, rules: ['plain'], reason, unused })
    }
  },
)
