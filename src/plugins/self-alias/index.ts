import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addHook } from '../../fastify/route.js'
import { invalid, resolveOptions } from '../../options.js'
import { exclusionReasonOf } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { type AliasPlace, isRecord, lastCollection, placeBehind, placeOf } from './alias-place.js'
import { finishOwn } from './finish-own.js'
import { describeSelfAlias } from './openapi.js'
import {
  readRouteOptions,
  type SelfAliasOptions,
  type SelfAliasRouteOptions,
  selfAliasChecks,
  selfAliasDefaults,
} from './options.js'
import { refuseReserved } from './refuse-reserved.js'
import { paramsOf, resolveAlias, resolvedAlias } from './resolve-alias.js'

export type {
  Identify,
  SelfAliasOptions,
  SelfAliasRouteOptions,
  SelfId,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Does the route take `me` for the caller's id? `false` leaves it alone. */
    selfAlias?: SelfAliasRouteOptions | boolean
  }
}

/**
 * The self alias: `/v1/users/me`, `/v1/users/self` and what is below them are the caller's own
 * record. The id that `identify` gives stands in `request.params` before anything reads it, so that handlers, schemas and
 * validators stay as they were. The answer has `Content-Location` with the record's own URL (RFC 9110 §8.7), is `private`
 * whatever else is said of its caching, and its `ETag` is the caller's alone. A caller who is not known gets a 401 problem;
 * a record whose id is an alias cannot be made.
 *
 * Who is calling has to be known by then: by `identify` itself, or by an `onRequest` hook.
 *
 * Not where an alias can be the id of a record that is there already: nobody could ask for it any more.
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
    const described: { readonly route: RouteOptions; readonly parameter: string }[] = []
    let isMet = collections.size === 0
    resolvedAlias.declare(app)

    app.addHook('onRoute', function takeAliasOnRoute(route) {
      const label = `${methodsOf(route).join(', ')} ${route.path} config.selfAlias`
      const own = readRouteOptions(label, route.config?.selfAlias)
      if (own === false || (own === null && exclusionReasonOf(route) !== null)) return
      const mode = own?.mode ?? options.mode
      const place = own?.param === undefined ? placeBehind(route.path, collections) : null
      const meant = place ?? (own === null ? null : placeOf(route.path, own.param))
      const makes = makesRecords(route, meant, own !== null)
      if (meant !== null || makes) isMet = true
      else if (own !== null) invalid(label, 'in a route with one parameter, or with the name of one', own)
      if (mode === 'off') return
      if (makes) {
        const refuses = refuseReserved(idMembers, aliases, mode === 'report' ? reporter : null)
        addHook(route, 'preValidation', 'selfAlias', refuses)
      }
      if (meant !== null) {
        if (mode === 'report') observe(route, meant)
        else enforce(route, meant)
      }
    })

    app.addHook('onReady', function describeAliases(done) {
      for (const { route, parameter } of described) {
        const reads = methodsOf(route).includes('GET')
        completeWhenRead(route, (schema) => describeSelfAlias(schema, parameter, options.aliases, reads))
      }
      if (!isMet) app.log.warn(`selfAlias: no route is in ${options.collections.join(', ')}`)
      done()
    })

    function makesRecords(route: RouteOptions & { path: string }, place: AliasPlace | null, asked: boolean) {
      const methods = methodsOf(route)
      if (place !== null) return isRecord(place) && methods.some((method) => writing.has(method))
      const isCollection = asked || collections.has(lastCollection(route.path) ?? '')
      return isCollection && methods.includes('POST')
    }

    function enforce(route: RouteOptions, place: AliasPlace): void {
      const { identify, challenge } = options
      if (identify === undefined) {
        invalid('selfAlias.identify', 'a function of the request that gives the id of the caller', identify)
      }
      const resolve = resolveAlias({ place, aliases, identify, challenge })
      addHook(route, 'preParsing', 'selfAlias', resolve)
      addHook(route, 'onSend', 'selfAlias', finishOwn(place, options.vary))
      described.push({ route, parameter: place.parameter })
    }

    function observe(route: RouteOptions, { parameter }: AliasPlace): void {
      function observeOnRequest(request: FastifyRequest, _reply: FastifyReply, next: () => void): void {
        const given = paramsOf(request)[parameter]
        if (given !== undefined && aliases.has(given)) reporter.observe('selfAlias', 'alias', request, given)
        next()
      }
      addHook(route, 'onRequest', 'selfAlias', observeOnRequest)
    }
  },
)

// What may have an id in its body: a PUT that makes a record, a PATCH that gives it another id.
const writing: ReadonlySet<string> = new Set(['PUT', 'PATCH'])

function methodsOf({ method }: RouteOptions): readonly string[] {
  return [method].flat()
}
