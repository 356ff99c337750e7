import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { convention } from '../../convention/convention.js'
import { excludedEarlier, type RegistrationOptions } from '../../convention/declared-routes.js'
import { declareRawFields } from '../../convention/early-answers.js'
import { isResponse } from '../../convention/reply.js'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { foreignReasonOf, isHidden } from '../../report/modes.js'
import {
  type Fields,
  type Profile,
  type SecurityFields,
  type SecurityHeadersOptions,
  type SecurityHeadersRouteOptions,
  securityFields,
  securityHeadersOptions,
  securityHeadersRouteOptions,
  withoutPolicyOnPages,
} from './fields.js'

export type {
  HelmetHeaders,
  SecurityHeadersOptions,
  SecurityHeadersProfile,
  SecurityHeadersRouteOptions,
} from './fields.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Security headers of this route, merged over those of the plugin; `false` for none. */
    securityHeaders?: SecurityHeadersRouteOptions | false
  }
}

/**
 * Sets security headers on every response, also on errors and 404s: those of helmet, by default the few that have an
 * effect for a JSON API (OWASP REST Security Cheat Sheet). helmet runs once per configuration at boot.
 * `Strict-Transport-Security` is sent over TLS only: behind a proxy that ends TLS, set `trustProxy` of Fastify.
 *
 * Headers that the app sets are kept. In a context with @fastify/helmet the plugin is off, and the report says so.
 * Wildcard routes and WebSocket routes may be pages, which the policy of an API would break: they have no headers unless
 * `config.securityHeaders` sets them. Routes that are hidden from the OpenAPI document (`schema.hide`) have the headers,
 * but neither a content security policy nor an opener policy on their pages. Other responses that are `text/html` have no
 * policy of an API. A response that an earlier hook sends has no headers, and neither has the answer to a connection
 * without a request (400, 408, 431), unless `serverOptions()` are used.
 *
 * Not for an app behind a proxy that sets these headers, nor for a policy that differs from request to request.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const securityHeaders: FastifyPluginAsync<SecurityHeadersOptions & RegistrationOptions> = convention({
  name: 'securityHeaders',
  rules: ['missing'],
  options: securityHeadersOptions,
  routeOptions: securityHeadersRouteOptions,
  neighbours: [
    {
      name: '@fastify/helmet',
      isIn: (app: FastifyInstance) => app.hasReplyDecorator('helmet'),
      problem: 'sets the headers here: this plugin is off',
      instead: 'one of the two: securityHeaders: false, or no @fastify/helmet',
    },
  ],
  async setUp({ app, options }) {
    // Loaded here, so that an import of this package does not load it.
    const { default: helmet } = await import('helmet')
    const fields = securityFields(helmet, 'securityHeaders', options)
    if (options.mode === 'enforce') declareRawFields(app, fields)
    const isExcluded = excludedEarlier(app)
    return { helmet, fields, steps: stepsOf(fields, isExcluded) }
  },
  route({ name, route, isConfigured, options, modeOf, exclude, state }) {
    if (modeOf.missing === 'off') return undefined
    const isEnforced = modeOf.missing === 'enforce'
    if (route === null) return isEnforced ? state.steps.enforce : state.steps.report
    const reason = isConfigured ? null : foreignReasonOf(route)
    if (reason !== null) {
      exclude(reason)
      return undefined
    }
    if (!isConfigured && !isHidden(route)) return isEnforced ? state.steps.enforce : state.steps.report
    const own = isConfigured
      ? securityFields(state.helmet, `${name} config.securityHeaders`, options)
      : withoutPolicyOnPages(state.fields)
    return stepsOf(own)[isEnforced ? 'enforce' : 'report']
  },
})

interface Steps {
  readonly onRequest?: RequestStep
  readonly onSend: PayloadStep
}

function stepsOf(
  fields: SecurityFields,
  isExcluded: (request: FastifyRequest) => boolean = () => false,
): { readonly enforce: Steps; readonly report: Steps } {
  const { ofPage } = fields
  const [plain, secure] = [effectOf(fields.plain), effectOf(fields.secure)]

  function setFields(request: FastifyRequest, reply: FastifyReply): Effect | undefined {
    if (isExcluded(request)) return undefined
    const all = fieldsFor(request, fields)
    for (const name in all) {
      if (!isMissing(reply, name)) return effectOf(all, missingOf(reply, Object.keys(all)))
    }
    return all === fields.plain ? plain : secure
  }

  // The headers of an API would block all that a page loads, and a header that the app has set later stays.
  function setFieldsOfPage(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
  ): Effect | undefined {
    if (ofPage === null || !isPage(reply, payload) || isExcluded(request)) return undefined
    const [ours, own] = [fieldsFor(request, fields), fieldsFor(request, ofPage)]
    const change = (): void => {
      for (const name of Object.keys({ ...ours, ...own })) {
        const value = reply.getHeader(name)
        if (value !== undefined && value !== ours[name]) continue
        if (own[name] === undefined) reply.removeHeader(name)
        else reply.header(name, own[name])
      }
    }
    return { rule: 'missing', given: '', change }
  }

  function countMissing(request: FastifyRequest, reply: FastifyReply, payload: unknown): Effect | undefined {
    if (isExcluded(request)) return undefined
    const profile = ofPage !== null && isPage(reply, payload) ? ofPage : fields
    const all = fieldsFor(request, profile)
    const missing = missingOf(reply, Object.keys(all))
    return missing.length === 0 ? undefined : effectOf(all, missing)
  }

  return { enforce: { onRequest: setFields, onSend: setFieldsOfPage }, report: { onSend: countMissing } }
}

function effectOf(fields: Fields, names: readonly string[] = Object.keys(fields)): Effect {
  const headers = Object.fromEntries(names.map((name) => [name, fields[name] ?? '']))
  return { rule: 'missing', given: `without ${names.join(', ')}`, headers }
}

function missingOf(reply: FastifyReply, names: readonly string[]): readonly string[] {
  return names.filter((name) => isMissing(reply, name))
}

function isMissing(reply: FastifyReply, name: string): boolean {
  return !reply.hasHeader(name) && !reply.raw.hasHeader(name)
}

// Most responses are JSON: their media type need not be parsed.
const startsAsText = /^t/i

function isPage(reply: FastifyReply, payload: unknown): boolean {
  const type = isResponse(payload) ? payload.headers.get('content-type') : reply.getHeader('content-type')
  return typeof type === 'string' && startsAsText.test(type) && mediaTypeOf(type) === 'text/html'
}

// RFC 6797 §7.2: Strict-Transport-Security over TLS only. `protocol` is that of the trusted proxy, if there is one.
function fieldsFor(request: FastifyRequest, { plain, secure }: Profile): Fields {
  return plain === secure || request.protocol !== 'https' ? plain : secure
}
