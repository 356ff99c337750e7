import type { FastifyInstance } from 'fastify'
import { addFrameworkErrorHeaders } from '../../fastify/framework-error-headers.js'
import { headSiblings } from '../../fastify/internals.js'
import { type HasNeighbour, watchNeighbour } from '../../fastify/neighbours.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { declareRawFields } from '../../fastify/raw-fields.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { excludedEarlier } from '../../fastify/route-watch.js'
import { routeSlot } from '../../fastify/slots.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { exclusionReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { type Nonces, type SecurityFields, securityFields } from './fields.js'
import { type FieldsOf, keepHeadersOfApp, observeSecurityHeaders, setSecurityHeaders } from './hooks.js'
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
    /** Security headers of this route, merged over those of the plugin; `false` for none. */
    securityHeaders?: SecurityHeadersRouteOptions | false
  }

  interface FastifyReply {
    /** The nonces in the `Content-Security-Policy`, where `enableCSPNonces` is set. */
    cspNonce: Nonces
  }
}

const neighbour = {
  name: '@fastify/helmet',
  isIn: (app: FastifyInstance) => app.hasReplyDecorator('helmet'),
}

/** The headers of a route that differ from those of the plugin; `null` for none. */
const fieldsOfRoute = routeSlot<SecurityFields | null>('securityHeaders.fields')

/**
 * Sets security headers on every response, also on errors and 404s: those of helmet, by default the few that have an
 * effect for a JSON API (OWASP REST Security Cheat Sheet). helmet runs once per configuration at boot. Per request it
 * runs only for a policy that differs from request to request. `Strict-Transport-Security` is sent over TLS only: behind
 * a proxy that ends TLS, set `trustProxy` of Fastify.
 *
 * Headers that the app sets, with `reply.header()` or with @fastify/helmet, are kept, and the report lists the routes.
 * Wildcard routes, WebSocket routes and routes that are hidden from the OpenAPI document may be pages, which the policy of
 * an API would break: they have no headers unless `config.securityHeaders` sets them. Other responses that are
 * `text/html` have no policy of an API. A response that an earlier hook sends has no headers, and neither has the answer
 * to a connection without a request (400, 408, 431), unless `serverOptions()` are used.
 *
 * Not for an app behind a proxy that sets these headers.
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
    // Loaded here, so that an import of this package does not load it.
    const { default: helmet } = await import('helmet')
    const reporter = reporterOf(app)
    const fields = securityFields(helmet, 'securityHeaders', options)
    const enforces = options.mode === 'enforce'
    const isHeadSibling = headSiblings(app)
    const isExcludedEarlier = excludedEarlier(app)
    const hasHelmet: HasNeighbour =
      options.mode === 'off'
        ? () => false
        : watchNeighbour(app, neighbour, {
            plugin: 'securityHeaders',
            problem: 'sets the headers here: where it does, this plugin sets none',
            instead: 'one of the two: securityHeaders: false, or no @fastify/helmet',
          })
    // Reading the route of a request takes time, so it is read only if a route has headers of its own.
    let hasOwn = false
    const fieldsOf: FieldsOf = (request) => {
      const own = hasOwn ? fieldsOfRoute.of(request) : undefined
      if (own !== undefined) return own
      return isExcludedEarlier(request) ? null : fields
    }

    if (enforces) {
      const setHeaders = setSecurityHeaders(fieldsOf)
      addAppHook(app, 'onRequest', 'securityHeaders', setHeaders)
      addAppHook(app, 'onSend', 'securityHeaders', keepHeadersOfApp(fieldsOf, hasHelmet, reporter))
      addFrameworkErrorHeaders(app, setHeaders.bind(app))
      declareRawFields(app, fields)
    }
    if (options.mode === 'report') {
      addAppHook(app, 'onSend', 'securityHeaders', observeSecurityHeaders(fieldsOf, hasHelmet, reporter))
    }

    app.addHook('onRoute', function securityHeadersOnRoute(route) {
      const name = `${[route.method].flat().join(', ')} ${route.path}`
      const label = `${name} config.securityHeaders`
      const given = route.config?.securityHeaders
      const resolved = resolveRouteOptions(label, given, securityHeadersChecks, options)
      const reason = given === undefined ? exclusionReasonOf(route) : null
      const isSibling = isHeadSibling(route)
      if (reason !== null && options.mode !== 'off' && !isSibling) {
        reporter.addException({
          plugin: 'securityHeaders',
          route: name,
          rules: ['missing'],
          reason,
          unused: false,
        })
      }
      if (resolved === options && reason === null) return
      const isWithout = resolved === false || reason !== null || resolved.mode === 'off'
      const own = isWithout ? null : securityFields(helmet, label, resolved)
      const sets = resolved !== false && resolved.mode === 'enforce'
      hasOwn = true
      fieldsOfRoute.set(route, enforces && !sets ? null : own)
      if (own === null) return
      const ownOf: FieldsOf = () => own
      if (sets && !enforces) {
        addHook(route, 'onRequest', 'securityHeaders', setSecurityHeaders(ownOf))
        addHook(route, 'onSend', 'securityHeaders', keepHeadersOfApp(ownOf, hasHelmet, reporter))
      }
      if (!sets && options.mode !== 'report') {
        addHook(route, 'onSend', 'securityHeaders', observeSecurityHeaders(ownOf, hasHelmet, reporter))
      }
    })
  },
)
