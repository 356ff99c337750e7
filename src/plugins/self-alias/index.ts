import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { AnyRequest } from '../../convention/any-request.js'
import { callerIdText, hasCallers, subjectOf } from '../../convention/caller.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { hasContent, isResponse, sentFields } from '../../convention/exchange.js'
import { requestSlot } from '../../convention/slots.js'
import type { Effect, StepResult } from '../../convention/steps.js'
import { isField } from '../../http/error-headers.js'
import { fieldName, privateOnly, varyMerger } from '../../http/header-fields.js'
import {
  functionOf,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  option,
  optional,
  text,
} from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { type DescribedProblem, problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { modeOption, nonJsonReasonOf, routeMode } from '../../report/modes.js'
import { logOf } from '../../report/report.js'
import type { DocumentOperation, Parameter } from '../../schema/openapi.js'
import {
  type AliasPlace,
  isRepresentation,
  lastCollection,
  ownTarget,
  placeAfter,
  placeOf,
  type ResolvedAlias,
  withCaller,
  withoutCaller,
} from './alias.js'

/** The id of a record. */
export type SelfId = string | number | bigint

/** Returns the id of the caller's record, or a promise of it; `null` if the caller is not known. */
export type Identify = AnyRequest<[], SelfId | null | undefined | PromiseLike<SelfId | null | undefined>>

const someAliases = listOf(text("a lowercase segment such as 'me'", /^[a-z0-9._~-]+$/), 'at least one name')

const selfAliasOptions = {
  /**
   * `enforce` replaces the alias by the caller's id, `report` changes nothing and counts requests with an alias, `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Returns the id of the caller's record; `null` is answered with 401. It runs after all `onRequest` hooks, and only for
   * requests with an alias. If nothing sets `request.caller`, a route that may have an alias is a finding without it.
   * @default the subject of `request.caller`, which `bearer` sets
   */
  identify: option(functionOf<Identify>('a function of the request'), subjectOf),
  /**
   * Collections whose records are callers, such as `users`: in each route, the first parameter directly after one of them
   * may be an alias. Other routes use `config.selfAlias`.
   * @default []
   */
  collections: option(listOf(text("a segment such as 'users'", /^[^/:*]+$/)), []),
  /**
   * The segments that name the caller's record. Set the option `selfAliases` of `pathGuard` to the same.
   * @default ['me', 'self']
   */
  aliases: option(someAliases, ['me', 'self']),
  /**
   * Request headers that identify the caller. Responses under an alias have them in `Vary`, so that a browser does not
   * show the record of another account.
   * @default ['authorization', 'cookie']
   */
  vary: option(listOf(fieldName), ['authorization', 'cookie']),
}

const selfAliasRouteOptions = {
  /**
   * The parameter that may be an alias.
   * @default the one directly after a collection, else the only one
   */
  param: optional(text()),
  ...routeMode,
}

/** Options of the plugin `selfAlias`. */
export type SelfAliasOptions = OptionsOf<typeof selfAliasOptions>

/** Options of a route under `config.selfAlias`, besides `true` and `false`. */
export type SelfAliasRouteOptions = OptionsOf<typeof selfAliasRouteOptions>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `selfAlias` for this route: `true` if its parameter may be an alias, `false` to leave it alone. */
    selfAlias?: SelfAliasRouteOptions | boolean
  }
}

const resolvedAlias = requestSlot<ResolvedAlias>('selfAlias.resolved')

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
export const selfAlias: FastifyPluginAsync<SelfAliasOptions & RegistrationOptions> = convention({
  name: 'selfAlias',
  rules: ['alias', 'reserved', 'identify'],
  options: selfAliasOptions,
  routeOptions: selfAliasRouteOptions,
  acceptsTrue: true,
  setUp({ app, options: { collections, identify }, atReady, addFinding }) {
    const collectionNames = new Set(collections)
    const withAlias: { readonly context: FastifyInstance; readonly route: string }[] = []
    const state = { collectionNames, withAlias, hasRoute: collections.length === 0 }
    // Only then all plugins that may set the caller are registered.
    atReady(function findUnknownCallers() {
      if (!state.hasRoute) logOf(app)?.warn(`selfAlias: no route is in ${collections.join(', ')}`)
      if (identify !== subjectOf) return
      for (const { context, route } of withAlias) {
        if (hasCallers(context)) continue
        addFinding({
          rule: 'identify',
          route,
          mode: 'enforce',
          problem: 'has an alias of the caller, and nothing sets request.caller',
          instead: 'selfAlias: { identify }, or bearer',
        })
      }
    })
    return state
  },
  route({ app, name, path, methods, route, isConfigured, options, modeOf, state }) {
    if (route === null || (!isConfigured && nonJsonReasonOf(route) !== null)) return undefined
    const { param, identify } = options
    const aliases = new Set(options.aliases)
    const place =
      (param === undefined ? placeAfter(path, state.collectionNames) : null) ??
      (isConfigured ? placeOf(path, param) : null)
    const isWritten = writesRecords(
      methods,
      place,
      isConfigured || state.collectionNames.has(lastCollection(path) ?? ''),
    )
    if (place !== null || isWritten) state.hasRoute = true
    else if (isConfigured)
      invalid(`${name} config.selfAlias`, 'in a route with one parameter, or with the name of one', { param })
    // What a validator makes of the body counts: `['me']` may become `'me'`.
    const preHandler = isWritten ? ({ body }: FastifyRequest) => refuseReserved(body, aliases) : undefined
    const refusals = isWritten && modeOf.reserved === 'enforce' ? ofReserved : []
    if (place === null || modeOf.alias === 'off') return { preHandler, describe: { problems: refusals } }
    const addVary = varyMerger(options.vary)
    const isEnforced = modeOf.alias === 'enforce'
    if (isEnforced) state.withAlias.push({ context: app, route: name })

    const resolve = (request: FastifyRequest, alias: string, found: SelfId | null | undefined): Effect => {
      const id = callerIdText(found, 'selfAlias: identify() returned something else')
      if (id === null) return { rule: 'alias', given: alias, refusal: unknownCaller(alias) }
      return { rule: 'alias', given: alias, change: () => replaceAlias(request, place, { alias, id }) }
    }

    return {
      preHandler,
      preParsing(request): StepResult {
        const given = paramsOf(request)[place.parameter]
        if (given === undefined) return undefined
        if (!aliases.has(given)) {
          // The tag of a record that was read under an alias is valid under its own id, too.
          if (isEnforced) removeCaller(request, given)
          return undefined
        }
        if (!isEnforced) return { rule: 'alias', given }
        const found = identify(request)
        const use = (id: SelfId | null | undefined) => resolve(request, given, id)
        return typeof found === 'object' && found !== null ? found.then(use) : use(found)
      },
      onSend(request, reply, payload): StepResult {
        const resolved = resolvedAlias.get(request)
        if (resolved === undefined) return undefined
        const { alias, id } = resolved
        const { get, set } = sentFields(reply, payload)
        const headers: Record<string, string> = { 'cache-control': privateOnly(get('cache-control')) }
        const vary = addVary(get('vary'))
        if (vary !== '') headers.vary = vary
        const etag = get('etag')
        if (etag !== undefined) headers.etag = withCaller(etag, id)
        const [status, content] = isResponse(payload)
          ? [payload.status, payload.body]
          : [reply.statusCode, payload]
        if (
          isRepresentation(request.method, status, hasContent(content)) &&
          get('content-location') === undefined
        ) {
          const target = ownTarget(request.originalUrl, place, alias, id)
          if (target !== null && isField('content-location', target)) headers['content-location'] = target
        }
        return { rule: 'alias', given: alias, ...set(headers) }
      },
      describe: isEnforced ? describeSelfAlias(options.aliases, methods, refusals) : { problems: refusals },
      document: isEnforced ? documentAliases(place.parameter, options.aliases) : undefined,
    }
  },
})

function unknownCaller(alias: string): ProblemError {
  const detail = `${alias} is the record of the caller, and the caller is not known`
  return new ProblemError('unauthorized', { detail, headers: { 'www-authenticate': 'Bearer' } })
}

function writesRecords(methods: readonly string[], place: AliasPlace | null, isOfRecords: boolean): boolean {
  // A PUT may create a record, and a PATCH may change its id.
  if (place !== null) return place.after === 0 && (methods.includes('PUT') || methods.includes('PATCH'))
  return methods.includes('POST') && isOfRecords
}

/** Refuses a body that gives a record an alias as its id, because no request could reach that record. */
function refuseReserved(body: unknown, aliases: ReadonlySet<string>): Effect | undefined {
  if (!isObject(body)) return undefined
  const member = ['id', 'id_str'].find((name) => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    return typeof value === 'string' && aliases.has(value.toLowerCase())
  })
  if (member === undefined) return undefined
  const pointer = `/${member}`
  const message = 'is reserved for the caller'
  const detail = `${pointer} ${message}`
  const refusal = new ProblemError('validation', { detail, errors: [{ in: 'body', pointer, message }] })
  return { rule: 'reserved', refusal }
}

function replaceAlias(request: FastifyRequest, { parameter }: AliasPlace, resolved: ResolvedAlias): void {
  paramsOf(request)[parameter] = resolved.id
  resolvedAlias.set(request, resolved)
  removeCaller(request, resolved.id)
  // A date does not distinguish the records of two callers.
  if (request.headers['if-modified-since'] !== undefined) delete request.headers['if-modified-since']
}

function paramsOf(request: FastifyRequest): Record<string, string | undefined> {
  return request.params as Record<string, string | undefined>
}

function removeCaller({ headers }: FastifyRequest, id: string): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (match !== undefined) headers['if-match'] = withoutCaller(match, id)
  if (noneMatch !== undefined) headers['if-none-match'] = withoutCaller(noneMatch, id)
}

const ofReserved = problemsOf({ validation: 'The id in the body is reserved for the caller' })

function describeSelfAlias(
  aliases: readonly string[],
  methods: readonly string[],
  refusals: readonly DescribedProblem[],
): RouteDescription {
  const isRepresented = methods.some((method) => ['GET', 'PUT', 'PATCH'].includes(method))
  const location = isRepresented ? { 'Content-Location': { type: 'string', description: ownUrl } } : {}
  const unauthorized = `${aliases.join(' or ')}, and the caller is not known`
  return {
    headers: location,
    problems: [...problemsOf({ unauthorized }), ...refusals],
    headersOf: {
      304: location,
      401: { 'WWW-Authenticate': { type: 'string', description: 'What a request needs' } },
    },
  }
}

function documentAliases(name: string, aliases: readonly string[]): DocumentOperation {
  const sentence = `${aliases.join(' or ')}: the caller's own`
  const withAliases = (parameter: Parameter): Parameter => {
    const { description, schema } = parameter
    if (parameter.in !== 'path' || parameter.name !== name || schema === undefined) return parameter
    return {
      ...parameter,
      description: description === undefined ? sentence : `${description} (${sentence})`,
      schema: { anyOf: [schema, { type: 'string', enum: [...aliases] }] },
    }
  }
  return (operation) => ({ ...operation, parameters: (operation.parameters ?? []).map(withAliases) })
}

const ownUrl = 'The URL of the record under its own id (RFC 9110 §8.7)'
