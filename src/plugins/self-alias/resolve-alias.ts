import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { requestSlot } from '../../fastify/slots.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { AliasPlace } from './alias-place.js'
import { hasCaller, withoutCaller } from './caller-tags.js'
import type { Identify, SelfId } from './options.js'

/** An alias that was put right. */
export interface ResolvedAlias {
  readonly alias: string
  /** The caller's id, as it would stand in a path. */
  readonly id: string
}

/** The alias of a request. */
export const resolvedAlias = requestSlot<ResolvedAlias>('selfAlias.resolved')

/** What it takes to put an alias right. */
export interface AliasResolution {
  readonly place: AliasPlace
  readonly aliases: ReadonlySet<string>
  readonly identify: Identify
  readonly challenge: string
}

type Next = (error: Error | null, payload?: RequestPayload) => void

/**
 * The `preParsing` hook that puts the caller's id in place of the alias: behind the hooks that find out who is calling,
 * in front of all that reads parameters or the body.
 */
export function resolveAlias({ place, aliases, identify, challenge }: AliasResolution) {
  function resolve(request: FastifyRequest, alias: string, found: SelfId | null | undefined): Error | null {
    if (found === null || found === undefined) {
      const detail = `${alias} is the record of the caller, and nobody is known to call`
      return new ProblemError('unauthorized', { detail, headers: { 'www-authenticate': challenge } })
    }
    if (!isId(found)) return new TypeError('selfAlias: identify() gave what is no id')
    const id = String(found)
    paramsOf(request)[place.parameter] = id
    resolvedAlias.set(request, { alias, id })
    unmarkTags(request, id)
    // A date cannot tell the record of one caller from that of another.
    if (request.headers['if-modified-since'] !== undefined) delete request.headers['if-modified-since']
    return null
  }

  return function resolveAliasOnPreParsing(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: RequestPayload,
    next: Next,
  ): void {
    const given = paramsOf(request)[place.parameter]
    if (given === undefined || !aliases.has(given)) {
      // The tag of what was read under an alias is good for the record under its own id as well.
      if (given !== undefined) unmarkTags(request, given)
      next(null, payload)
      return
    }

    const go = (found: SelfId | null | undefined): void => {
      const error = resolve(request, given, found)
      if (error === null) next(null, payload)
      else if (error instanceof ProblemError) refuse(request, reply, error, next)
      else next(error)
    }

    let found: ReturnType<Identify>
    try {
      found = identify(request)
    } catch (error) {
      next(error as Error)
      return
    }
    if (isPromise(found)) found.then(go, next)
    else go(found)
  }
}

/** The parameters of a request's path, as the router found them. */
export function paramsOf(request: FastifyRequest): Record<string, string | undefined> {
  return request.params as Record<string, string | undefined>
}

function unmarkTags({ headers }: FastifyRequest, id: string): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (hasCaller(match)) headers['if-match'] = withoutCaller(match, id)
  if (hasCaller(noneMatch)) headers['if-none-match'] = withoutCaller(noneMatch, id)
}

function isId(found: unknown): found is SelfId {
  if (typeof found === 'string') return found !== '' && found.isWellFormed()
  return typeof found === 'bigint' || Number.isSafeInteger(found)
}

function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof value === 'object' && value !== null && 'then' in value
}
