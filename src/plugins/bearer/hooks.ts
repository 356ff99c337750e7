import type { FastifyReply, FastifyRequest } from 'fastify'
import { hookError } from '../../fastify/hook-error.js'
import { isPreflight } from '../../fastify/preflight.js'
import { requestSlot, routeSlot } from '../../fastify/slots.js'
import type { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { type Refusals, unavailable } from './challenge.js'
import { credentialsOf } from './credentials.js'
import type { TokenCache } from './token-cache.js'
import { IssuerUnavailable, TokenRefused, type VerifiedToken } from './verified-token.js'

/** What a route requires; `null` stands for a route that needs no token. */
export interface RoutePlan {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
  readonly refusals: Refusals
}

/** The plan of a route that is not that of the plugin. */
export const planOfRoute = routeSlot<RoutePlan | null>('bearer.plan')

/** A token of a request that was found in the cache. */
export const knownToken = requestSlot<VerifiedToken>('bearer.known')

type Next = (error?: Error) => void

/** What the hooks need. */
export interface Authentication {
  readonly tokens: TokenCache
  /** The plan of routes without one of their own. */
  readonly standard: RoutePlan
  readonly mode: 'enforce' | 'report'
  readonly reporter: Reporter
}

/** Why a request is refused: the rule that `report` mode counts, and the problem. */
type Refusal = readonly [rule: 'credentials' | 'token' | 'scope' | 'issuer', problem: ProblemError]

/** Returns the hook that authenticates the caller of a request. */
export function authenticationHook({ tokens, standard, mode, reporter }: Authentication) {
  function end(refusal: Refusal, request: FastifyRequest, reply: FastifyReply, next: Next): void {
    const [rule, problem] = refusal
    if (mode === 'enforce') {
      refuse(request, reply, problem, next)
      return
    }
    reporter.observe('bearer', rule, request, problem.message, problem.statusCode)
    next()
  }

  function admit(
    { caller }: VerifiedToken,
    { scopes, refusals }: RoutePlan,
    request: FastifyRequest,
    reply: FastifyReply,
    next: Next,
  ): void {
    for (const scope of scopes) {
      if (!caller.scopes.includes(scope)) {
        end(['scope', refusals.insufficient()], request, reply, next)
        return
      }
    }
    if (mode === 'enforce') request.caller = caller
    next()
  }

  return function authenticateOnRequest(request: FastifyRequest, reply: FastifyReply, next: Next): void {
    // The response tells an unknown path from one that is protected, as the OpenAPI document does.
    if (request.is404 || isPreflight(request)) {
      next()
      return
    }
    const own = planOfRoute.of(request)
    const plan = own === undefined ? standard : own
    if (plan === null) {
      next()
      return
    }
    const known = knownToken.get(request)
    if (known !== undefined) {
      admit(known, plan, request, reply, next)
      return
    }
    const { refusals } = plan
    const credentials = credentialsOf(request.raw)
    if (credentials === 'none') {
      if (plan.isOptional) next()
      else end(['credentials', refusals.missing()], request, reply, next)
      return
    }
    if (credentials === 'malformed') {
      end(['credentials', refusals.malformed()], request, reply, next)
      return
    }
    const { token } = credentials
    const verified = tokens.known(token)
    if (verified !== null) {
      admit(verified, plan, request, reply, next)
      return
    }
    tokens.verify(token).then(
      (verified) => admit(verified, plan, request, reply, next),
      (error: unknown) => {
        if (error instanceof TokenRefused) {
          request.log.info({ reason: error.message }, 'bearer: the token is refused')
          end(['token', refusals.invalid()], request, reply, next)
        } else if (error instanceof IssuerUnavailable) end(['issuer', unavailable()], request, reply, next)
        else if (mode === 'enforce') next(hookError(error))
        else {
          request.log.error({ err: error }, 'bearer: the token cannot be verified')
          next()
        }
      },
    )
  }
}

/** Returns the lookup for hooks that run before the authentication. A token that it finds is not looked up again. */
export function knownSubjectOf(tokens: TokenCache) {
  return function subjectOfKnownToken(request: FastifyRequest): string | null {
    const credentials = credentialsOf(request.raw)
    if (typeof credentials === 'string') return null
    const verified = tokens.known(credentials.token)
    if (verified === null) return null
    knownToken.set(request, verified)
    return verified.caller.subject
  }
}
