import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { headSiblings } from '../../fastify/internals.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { declareRawFields } from '../../fastify/raw-fields.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { exclusionReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { type HelmetOutput, helmetOutput } from './helmet-output.js'
import { giveWay, type OutputOf, observeSecurityHeaders, setSecurityHeaders } from './hooks.js'
import {
  type SecurityHeadersOptions,
  type SecurityHeadersRouteOptions,
  securityHeadersChecks,
  securityHeadersDefaults,
} from './options.js'

export type {
  HelmetHeaders,
  SecurityHeadersOptions,
  SecurityHeadersProfile,
  SecurityHeadersRouteOptions,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Security headers of this route, laid over those of the plugin; `false` for none. */
    securityHeaders?: SecurityHeadersRouteOptions | false
  }
}

/**
 * Security headers on every answer, errors and 404s among them: those of helmet, by default the few that
 * do something for a JSON API (OWASP REST Security Cheat Sheet). helmet runs at boot, once per configuration; a request
 * gets its output. Only a policy that differs from request to request runs helmet itself. `Strict-Transport-Security`
 * is sent over TLS alone: behind a proxy that ends TLS, set `trustProxy` of Fastify.
 *
 * What the app sets itself stays, whether with `reply.header()` or with @fastify/helmet, and the report lists the routes.
 * Wildcard routes, WebSocket routes and routes hidden from the OpenAPI document may be pages, and the policy of an API
 * would break them: they have none of it, unless `config.securityHeaders` says what. Other answers that are `text/html`
 * have all but the policy of an API. An answer that a hook gives which was registered earlier has no headers yet; what is
 * no request at all (400, 408, 431 of a connection) has none.
 *
 * Not where a proxy in front sets these headers for all that is behind it.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const securityHeaders = conventionPlugin<SecurityHeadersOptions>(
  'securityHeaders',
  async function setUpSecurityHeaders(app, received) {
    const options = resolveOptions(
      'securityHeaders',
      received,
      securityHeadersChecks,
      securityHeadersDefaults,
    )
    const { default: helmet } = await import('@fastify/helmet')
    const reporter = reporterOf(app)
    const output = helmetOutput(helmet, app, 'securityHeaders', options)
    const enforces = options.mode === 'enforce'
    const isHeadSibling = headSiblings(app)
    // Only then it is worth asking for the route of a request.
    let hasOwn = false
    const outputOf: OutputOf = (request) => {
      const own = hasOwn ? ownOutput.of(request) : undefined
      return own === undefined ? output : own
    }

    if (enforces) {
      const setHeaders = setSecurityHeaders(outputOf)
      addAppHook(app, 'onRequest', 'securityHeaders', setHeaders)
      addAppHook(app, 'onSend', 'securityHeaders', giveWay(outputOf, reporter))
      addFrameworkErrorHeaders(app, setHeaders.bind(app))
      declareRawFields(app, output)
    }
    if (options.mode === 'report')
      addAppHook(app, 'onSend', 'securityHeaders', observeSecurityHeaders(outputOf, reporter))

    app.addHook('onRoute', function securityHeadersOnRoute(route) {
      const name = `${[route.method].flat().join(', ')} ${route.path}`
      const label = `${name} config.securityHeaders`
      const given = route.config?.securityHeaders
      const resolved = resolveRouteOptions(label, given, securityHeadersChecks, options)
      const leftAlone = given === undefined ? exclusionReasonOf(route) : null
      const isSibling = isHeadSibling(route)
      if (leftAlone !== null && options.mode !== 'off' && !isSibling) {
        const told = { plugin: 'securityHeaders', route: name, rules: ['missing'], unused: false }
        reporter.addException({ ...told, reason: leftAlone })
      }
      if (resolved === options && leftAlone === null) return
      const isWithout = resolved === false || leftAlone !== null || resolved.mode === 'off'
      const own = isWithout ? null : helmetOutput(helmet, app, label, resolved)
      const sets = resolved !== false && resolved.mode === 'enforce'
      hasOwn = true
      ownOutput.set(route, enforces && !sets ? null : own)
      if (own === null) return
      if (sets && !enforces) {
        addHook(
          route,
          'onRequest',
          'securityHeaders',
          setSecurityHeaders(() => own),
        )
        addHook(
          route,
          'onSend',
          'securityHeaders',
          giveWay(() => own, reporter),
        )
      }
      if (!sets && options.mode !== 'report') {
        addHook(
          route,
          'onSend',
          'securityHeaders',
          observeSecurityHeaders(() => own, reporter),
        )
      }
    })
  },
)

/** The headers of a route where they are not those of the plugin; `null` for none. */
const ownOutput = routeSlot<HelmetOutput | null>('securityHeaders.ownOutput')
