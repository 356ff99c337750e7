import type { FastifyRequest, RouteOptions } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { hookError } from '../../fastify/hook-error.js'
import { hasContent, isResponse, withHeaders } from '../../fastify/payloads.js'
import { addHook } from '../../fastify/route.js'
import { requestSlot } from '../../fastify/slots.js'
import { varyMerger } from '../../http/vary.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import type { AliasPlace } from './alias-path.js'
import type { Identify, SelfId } from './options.js'
import { reservedProblem } from './reserved.js'
import { headersUnderAlias, type ResolvedAlias, withoutCaller } from './response.js'

/** The alias of a request, once it is replaced. */
export const resolvedAlias = requestSlot<ResolvedAlias>('selfAlias.resolved')

/** What the hooks of a route need. */
export interface AliasRoute {
  readonly place: AliasPlace
  readonly aliases: ReadonlySet<string>
  readonly identify: Identify
  readonly challenge: string
  readonly vary: readonly string[]
}

/**
 * Adds the hooks that replace the alias by the caller's id, after the hooks that authenticate and before all that read
 * parameters or the body, and that finish the response.
 */
export function resolveOnRoute(route: RouteOptions, options: AliasRoute): void {
  const { place, aliases, identify, challenge } = options
  const addVary = varyMerger(options.vary)

  function resolve(request: FastifyRequest, alias: string, found: SelfId | null | undefined): Error | null {
    if (found === null || found === undefined) {
      const detail = `${alias} is the record of the caller, and the caller is not known`
      return new ProblemError('unauthorized', { detail, headers: { 'www-authenticate': challenge } })
    }
    if (!isId(found))
      return new TypeError('selfAlias: identify() must return a string, a safe integer, a BigInt or null')
    const id = String(found)
    paramsOf(request)[place.parameter] = id
    resolvedAlias.set(request, { alias, id })
    removeCaller(request, id)
    // A date does not distinguish the records of two callers.
    if (request.headers['if-modified-since'] !== undefined) delete request.headers['if-modified-since']
    return null
  }

  addHook(route, 'preParsing', 'selfAlias', function resolveAliasOnPreParsing(request, reply, payload, next) {
    const given = paramsOf(request)[place.parameter]
    if (given === undefined || !aliases.has(given)) {
      // The tag of a record that was read under an alias is valid under its own id, too.
      if (given !== undefined) removeCaller(request, given)
      next(null, payload)
      return
    }
    const proceed = (found: SelfId | null | undefined): void => {
      const error = resolve(request, given, found)
      if (error === null) next(null, payload)
      else if (error instanceof ProblemError) refuse(request, reply, error, next)
      else next(error)
    }
    let found: ReturnType<Identify>
    try {
      found = identify(request)
    } catch (error) {
      next(hookError(error))
      return
    }
    if (typeof found === 'object' && found !== null && 'then' in found)
      found.then(proceed, (error: unknown) => next(hookError(error)))
    else proceed(found)
  })

  addHook(route, 'onSend', 'selfAlias', function finishUnderAlias(request, reply, payload, next) {
    const resolved = resolvedAlias.get(request)
    if (resolved === undefined) {
      next(null, payload)
      return
    }
    // Fastify overrides the headers of the reply by those of a Response, after all hooks.
    const response = isResponse(payload) ? (payload as Response) : null
    const headers = headersUnderAlias(resolved, place, addVary, {
      method: request.method,
      target: request.originalUrl,
      status: response?.status ?? reply.statusCode,
      hasContent: response === null ? hasContent(payload) : response.body !== null,
      get: (name) => response?.headers.get(name) ?? headerOf(reply, name),
    })
    reply.headers(headers)
    next(null, response === null ? payload : withHeaders(response, headers))
  })
}

/** Adds the hook of `report` mode, which counts requests with an alias. */
export function reportOnRoute(
  route: RouteOptions,
  { place, aliases }: Pick<AliasRoute, 'place' | 'aliases'>,
  reporter: Reporter,
): void {
  addHook(route, 'onRequest', 'selfAlias', function reportAliasOnRequest(request, _reply, next) {
    const given = paramsOf(request)[place.parameter]
    if (given !== undefined && aliases.has(given))
      reporter.observe('selfAlias', 'alias', request, given, 'changed')
    next()
  })
}

/**
 * Adds the hook of a route that writes records: an alias as the id of one is refused, or counted in `report` mode.
 *
 * @param members members of the body with the id
 */
export function refuseReservedOnRoute(
  route: RouteOptions,
  members: readonly string[],
  aliases: ReadonlySet<string>,
  reporter: Reporter | null,
): void {
  addHook(route, 'preValidation', 'selfAlias', function refuseReservedOnPreValidation(request, reply, next) {
    const problem = reservedProblem(request.body, members, aliases)
    if (problem === null) next()
    else if (reporter === null) refuse(request, reply, problem, next)
    else {
      reporter.observe('selfAlias', 'reserved', request, problem.message, problem.statusCode)
      next()
    }
  })
}

function paramsOf(request: FastifyRequest): Record<string, string | undefined> {
  return request.params as Record<string, string | undefined>
}

function removeCaller({ headers }: FastifyRequest, id: string): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (match !== undefined) headers['if-match'] = withoutCaller(match, id)
  if (noneMatch !== undefined) headers['if-none-match'] = withoutCaller(noneMatch, id)
}

function isId(found: unknown): found is SelfId {
  if (typeof found === 'string') return found !== '' && found.isWellFormed()
  return typeof found === 'bigint' || Number.isSafeInteger(found)
}
