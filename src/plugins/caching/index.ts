import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { offerNames } from '../../convention/offer-names.js'
import { needFields } from '../../convention/selection.js'
import { foreignReasonOf } from '../../report/modes.js'
import { loadHash } from './byte-tag.js'
import { type CachingFields, cachingHelper } from './cache-control.js'
import { expectedVersion, finishUnknown, stepsOf } from './hooks.js'
import {
  type CachingOptions,
  type CachingRouteOptions,
  cachingOptions,
  cachingRouteOptions,
  cachingRuleNames,
  type VersionOf,
} from './options.js'
import { describeCaching, planOf } from './plan.js'

export type { CacheDirectives, CachingFields, ModificationTimes } from './cache-control.js'
export type {
  CachingOptions,
  CachingRouteOptions,
  CachingRule,
  FindValidators,
  ResourceVersion,
  RouteValidators,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `caching` for this route; `false` turns it off. */
    caching?: CachingRouteOptions | false
  }
  interface FastifyRequest<RouteGeneric, RawServer, RawRequest, SchemaCompiler, TypeProvider, ContextConfig> {
    /**
     * The version that this write may overwrite, as `config.caching.validators` returned it: `null` if the resource must
     * not exist yet, `undefined` if the request has no precondition. Compare it in the statement that writes, and throw
     * `ProblemError('precondition-failed')` if it has changed.
     */
    readonly expectedVersion: VersionOf<ContextConfig> | null | undefined
  }
  interface FastifyReply {
    /**
     * Sets header fields about caching.
     * @throws FST_CONV_OPTION_INVALID for directives that contradict each other, and for times that are neither a `Date`
     * nor RFC 3339 text; FST_CONV_OPTION_UNKNOWN; TypeError for characters that an entity tag or a field name cannot have
     */
    caching(fields: CachingFields): this
  }
}

/**
 * Caching headers and conditional requests (RFC 9110 §13, RFC 9111). Every 200 to a GET or HEAD has `Cache-Control`,
 * `ETag` and `Last-Modified`. Preconditions are evaluated in the order of RFC 9110 §13.2.2: with `validators` before the
 * handler, else after it. Responses to writes and errors are not stored. With `validators`, a PUT, PATCH or DELETE with a
 * stale `If-Match` is a 412, and the handler does not run; without, preconditions of writes are left to the handler.
 *
 * Wildcard routes, WebSocket routes and routes for all methods are left alone, unless they have `config.caching`; the
 * report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const caching: FastifyPluginAsync<CachingOptions & RegistrationOptions> = convention({
  name: 'caching',
  rules: cachingRuleNames,
  // Whether requests break a rule is not known at boot.
  options: cachingOptions,
  routeOptions: cachingRouteOptions,
  neighbours: ['@fastify/etag', '@fastify/caching'].map((name) => ({
    name,
    isIn: (app: FastifyInstance) => app.hasPlugin(name),
    problem: 'is here: this plugin does nothing',
    instead: `no ${name}, or caching: false`,
  })),
  setUp({ app, options: { mode, now } }) {
    app.addHook('onReady', loadHash)
    const offered = { plugin: 'caching', mode }
    offerNames(app, { ...offered, owner: 'reply', members: { caching: { value: cachingHelper(now) } } })
    return offerNames(app, { ...offered, owner: 'request', members: { expectedVersion: { get: versionOf } } })
  },
  route(context) {
    const { name, route, isConfigured, options, state: needVersion } = context
    if (route === null) return { onSend: finishUnknown }
    // A route with foreign content is cached only if it has options of its own.
    const foreign = isConfigured ? null : foreignReasonOf(route)
    if (foreign !== null) {
      context.exclude(foreign)
      return undefined
    }
    if (options.mode === 'off') return undefined
    const plan = planOf(context, route)
    const { reads, guards, isReport, lastModified } = plan
    if (guards) needVersion(name, 'expectedVersion')
    if (reads && lastModified !== false && !isReport) needFields(route, () => [lastModified], true)
    return { ...stepsOf(plan), describe: isReport ? undefined : describeCaching(plan) }
  },
})

function versionOf(this: FastifyRequest) {
  return expectedVersion.get(this)
}
