import { Server as TlsServer } from 'node:tls'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { serverSettings } from '../../convention/internals.js'
import type { Effect } from '../../convention/steps.js'
import type { OptionsOf } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf } from '../../problem/route-description.js'
import { modeOption, routeMode } from '../../report/modes.js'

const httpsOnlyOptions = {
  /**
   * `enforce` refuses requests over plain HTTP, `report` changes nothing and counts them, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

/** Options of the plugin `httpsOnly`. */
export type HttpsOnlyOptions = OptionsOf<typeof httpsOnlyOptions>

/** Options of a route, under `config.httpsOnly`; `false` lets it serve plain HTTP. */
export type HttpsOnlyRouteOptions = OptionsOf<typeof routeMode>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link httpsOnly} for this route; `false` lets it serve plain HTTP. */
    httpsOnly?: HttpsOnlyRouteOptions | false
  }
}

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
export const httpsOnly: FastifyPluginAsync<HttpsOnlyOptions & RegistrationOptions> = convention({
  name: 'httpsOnly',
  rules: ['plain'],
  options: httpsOnlyOptions,
  routeOptions: routeMode,
  setUp({ app, options: { mode }, atReady, addFinding }) {
    atReady(function checkHttps() {
      const { trustProxy, hasServerFactory } = serverSettings(app)
      if (mode === 'off' || trustProxy || hasServerFactory || app.server instanceof TlsServer) return
      addFinding({
        rule: 'plain',
        route: '*',
        problem: 'every request would be refused: the server has no TLS, and trustProxy is off',
        instead: 'https of Fastify(), or trustProxy if a proxy ends TLS',
        mode,
      })
    })
  },
  route({ modeOf }) {
    return {
      onRequest: requireHttps,
      describe:
        modeOf.plain === 'enforce'
          ? { problems: problemsOf({ 'https-required': 'The request was sent without TLS' }) }
          : undefined,
    }
  },
})

function requireHttps(request: FastifyRequest): Effect | undefined {
  if (isSecure(request)) return undefined
  const detail = 'Use HTTPS; a token sent over plain HTTP has to be replaced'
  const refusal = new ProblemError('https-required', { detail })
  return { rule: 'plain', given: `${request.method} over plain HTTP`, refusal }
}

/** Whether the client has sent the request over TLS: to this server, or to the proxy that Fastify trusts. */
function isSecure({ protocol }: FastifyRequest): boolean {
  // A proxy may write the scheme in any case (RFC 3986 §3.1).
  return protocol?.toLowerCase() === 'https'
}
