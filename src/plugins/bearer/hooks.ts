import type { FastifyRequest } from 'fastify'
import type { Effect, RequestStep, StepResult } from '../../convention/steps.js'
import { requestSlot } from '../../fastify/slots.js'
import type { ProblemError } from '../../problem/problem-error.js'
import { type Refusals, unavailable } from './challenge.js'
import { credentialsOf } from './credentials.js'
import type { TokenCache } from './token-cache.js'
import { IssuerUnavailable, TokenRefused, type VerifiedToken } from './verified-token.js'

/** What the requests of a route need. */
export interface Requirement {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
  readonly refusals: Refusals
}

/** A token of a request that was found in the cache. */
export const knownToken = requestSlot<VerifiedToken>('bearer.known')

export const bearerRules = ['credentials', 'token', 'scope', 'issuer'] as const
type BearerRule = (typeof bearerRules)[number]

/** Returns the step that authenticates the caller of a request. */
export function authenticationOf(
  tokens: TokenCache,
  { scopes, isOptional, refusals }: Requirement,
  mode: 'enforce' | 'report',
): RequestStep {
  function admit({ caller }: VerifiedToken, request: FastifyRequest): Effect | undefined {
    if (!scopes.every((scope) => caller.scopes.includes(scope)))
      return effectOf('scope', refusals.insufficient())
    if (mode === 'enforce') request.caller = caller
    return undefined
  }

  function fail(error: unknown, { log }: FastifyRequest): Effect | undefined {
    if (error instanceof TokenRefused) {
      log.info({ reason: error.message }, 'bearer: the token is refused')
      return effectOf('token', refusals.invalid())
    }
    if (error instanceof IssuerUnavailable) return effectOf('issuer', unavailable())
    if (mode === 'enforce') throw error
    log.error({ err: error }, 'bearer: the token cannot be verified')
    return undefined
  }

  return function authenticate(request): StepResult {
    const known = knownToken.get(request)
    if (known !== undefined) return admit(known, request)
    const credentials = credentialsOf(request.raw)
    if (credentials === 'none') return isOptional ? undefined : effectOf('credentials', refusals.missing())
    if (credentials === 'malformed') return effectOf('credentials', refusals.malformed())
    const { token } = credentials
    const verified = tokens.known(token)
    if (verified !== null) return admit(verified, request)
    return tokens.verify(token).then(
      (verified) => admit(verified, request),
      (error: unknown) => fail(error, request),
    )
  }
}

function effectOf(rule: BearerRule, refusal: ProblemError): Effect {
  return { rule, given: refusal.message, refusal }
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
