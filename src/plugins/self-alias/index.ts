import type { FastifyInstance, RouteOptions } from 'fastify'
import { hasCallers, subjectOf } from '../../fastify/caller.js'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { invalid, resolveOptions } from '../../options.js'
import { describeRoute } from '../../problem/route-description.js'
import { nonJsonReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { type AliasPlace, lastCollection, placeAfter, placeOf } from './alias-path.js'
import { refuseReservedOnRoute, reportOnRoute, resolvedAlias, resolveOnRoute } from './hooks.js'
import { describeSelfAlias, withAliases } from './openapi.js'
import {
  readRouteOptions,
  type SelfAliasOptions,
  type SelfAliasRouteOptions,
  selfAliasChecks,
  selfAliasDefaults,
} from './options.js'

export type {
  Identify,
  SelfAliasOptions,
  SelfAliasRouteOptions,
  SelfId,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `selfAlias` for this route: `true` if its parameter may be an alias, `false` to leave it alone. */
    selfAlias?: SelfAliasRouteOptions | boolean
  }
}

/**
 * `/v1/users/me` and `/v1/users/self`, and the paths below, are the record of the caller. The id that `identify` returns
 * is in `request.params` before anything reads it, so handlers, schemas and validators do not change. The response has
 * `Content-Location` with the URL of the record (RFC 9110 §8.7), is `private`, and has an `ETag` of the caller. A caller
 * who is not known gets a 401 problem. A record cannot have an alias as its id.
 *
 * The caller must be known after the `onRequest` hooks, or `identify` finds it out.
 *
 * Not if an existing record may have an alias as its id: no request could reach it.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const selfAlias = conventionPlugin<SelfAliasOptions>(
  'selfAlias',
  function setUpSelfAlias(app, received) {
    const options = resolveOptions('selfAlias', received, selfAliasChecks, selfAliasDefaults)
    const reporter = reporterOf(app)
    const aliases = new Set(options.aliases)
    const collections = new Set(options.collections)
    const idMembers = [options.id, `${options.id}_str`]
    const described: AliasedRoute[] = []
    let hasRoute = collections.size === 0
    resolvedAlias.declare(app)

    app.addHook('onRoute', function allowAliasOnRoute(route) {
      const label = `${methodsOf(route).join(', ')} ${route.path} config.selfAlias`
      const own = readRouteOptions(label, route.config?.selfAlias)
      if (own === false || (own === null && nonJsonReasonOf(route) !== null)) return
      const mode = own?.mode ?? options.mode
      const isReport = mode === 'report'
      const place =
        (own?.param === undefined ? placeAfter(route.path, collections) : null) ??
        (own === null ? null : placeOf(route.path, own.param))
      const writes = writesRecords(route, place, own !== null)
      if (place !== null || writes) hasRoute = true
      else if (own !== null) invalid(label, 'in a route with one parameter, or with the name of one', own)
      if (mode === 'off') return
      if (writes) refuseReservedOnRoute(route, idMembers, aliases, isReport ? reporter : null)
      if (place === null) return
      if (isReport) reportOnRoute(route, { place, aliases }, reporter)
      else enforce(this, route, place)
    })

    // Only then all plugins that may set the caller are registered.
    reporter.checkAtReady(function findUnknownCallers() {
      if (options.identify !== subjectOf) return
      for (const { context, route, name } of described) {
        if (hasCallers(context) || methodsOf(route).join() === 'HEAD') continue
        reporter.addFinding({
          plugin: 'selfAlias',
          rule: 'identify',
          route: name,
          mode: 'enforce',
          problem: 'has an alias of the caller, and nothing sets request.caller',
          instead: 'selfAlias: { identify }, or bearer',
        })
      }
    })

    app.addHook('onReady', function describeAliases(done) {
      for (const { route, parameter } of described) {
        const reads = methodsOf(route).includes('GET')
        completeWhenRead(route, (schema) => withAliases(schema, parameter, options.aliases))
        describeRoute(route, describeSelfAlias(options.aliases, reads))
      }
      if (!hasRoute) app.log.warn(`selfAlias: no route is in ${options.collections.join(', ')}`)
      done()
    })

    function writesRecords(
      route: RouteOptions & { path: string },
      place: AliasPlace | null,
      isConfigured: boolean,
    ): boolean {
      const methods = methodsOf(route)
      // A PUT may create a record, and a PATCH may change its id.
      if (place !== null) return place.after === 0 && (methods.includes('PUT') || methods.includes('PATCH'))
      return methods.includes('POST') && (isConfigured || collections.has(lastCollection(route.path) ?? ''))
    }

    function enforce(context: FastifyInstance, route: AliasedRoute['route'], place: AliasPlace): void {
      const { identify, challenge, vary } = options
      resolveOnRoute(route, { place, aliases, identify, challenge, vary })
      const name = `${methodsOf(route).join(', ')} ${route.path}`
      described.push({ context, route, name, parameter: place.parameter })
    }
  },
)

/** A route that may have an alias. */
interface AliasedRoute {
  readonly context: FastifyInstance
  readonly route: RouteOptions & { readonly path: string }
  /** The name when it was declared. Fastify changes the path of a route at `/` below a prefix for its form with a slash. */
  readonly name: string
  readonly parameter: string
}

function methodsOf({ method }: RouteOptions): readonly string[] {
  return [method].flat()
}
