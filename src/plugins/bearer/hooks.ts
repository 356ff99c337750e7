import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Effect, RequestStep, StepResult } from '../../convention/steps.js'
import { requestSlot } from '../../fastify/slots.js'
import { isRepeated } from '../../http/raw-headers.js'
import { ProblemError } from '../../problem/problem-error.js'
import { IssuerUnavailable, type TokenCache, TokenRefused, type VerifiedToken } from './tokens.js'

/** The credentials of a request: a token, `none` of the scheme Bearer, or `malformed` ones. */
export type Credentials = { readonly token: string } | 'none' | 'malformed'

/** Maximum number of characters of a token. Node.js has a limit of its own for all header fields, 16 KB by default. */
const maxTokenLength = 16_384

// RFC 6750 §2.1: b64token. RFC 9110 §11.1: the name of the scheme has no case.
const scheme = /^bearer(?: |$)/i
const form = /^bearer +([\w.~+/-]+=*) *$/i

export function credentialsOf({
  headers,
  rawHeaders,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Credentials {
  const { authorization } = headers
  if (authorization === undefined) return 'none'
  // Node.js keeps the first of several fields, and a proxy may have checked another one.
  if (isRepeated(rawHeaders, 'authorization')) return 'malformed'
  if (!scheme.test(authorization)) return 'none'
  const token = form.exec(authorization)?.[1]
  return token === undefined || token.length > maxTokenLength ? 'malformed' : { token }
}

export interface ChallengeContext {
  readonly realm: string
  /** URL of the metadata of the resource (RFC 9728 §5.1); `null` for none. */
  readonly metadataUrl: string | null
}

/** The problems of a route whose requests lack a valid token, each with its challenge (RFC 6750 §3). */
export interface Refusals {
  readonly missing: () => ProblemError
  readonly malformed: () => ProblemError
  readonly invalid: () => ProblemError
  readonly insufficient: () => ProblemError
}

export function refusalsOf(context: ChallengeContext, scopes: readonly string[]): Refusals {
  const scope = scopes.length === 0 ? null : scopes.join(' ')
  return {
    // RFC 6750 §3.1: a request without credentials gets no error code.
    missing: problem('unauthorized', 'Send an access token as Authorization: Bearer', context, { scope }),
    malformed: problem(
      'authorization-malformed',
      'Send the token once, in the header field Authorization',
      context,
      {
        error: 'invalid_request',
      },
    ),
    invalid: problem('invalid-token', 'The token is not valid', context, { error: 'invalid_token', scope }),
    insufficient: problem(
      'insufficient-scope',
      `The token lacks a scope that is required here: ${scope ?? 'none'}`,
      context,
      { error: 'insufficient_scope', scope },
    ),
  }
}

function unavailable(): ProblemError {
  return new ProblemError('authentication-unavailable', {
    detail: 'Tokens cannot be verified at the moment; try again',
    headers: { 'retry-after': '5', 'cache-control': 'no-store' },
  })
}

interface Parameters {
  readonly error?: string
  readonly scope?: string | null
}

function problem(
  code: 'unauthorized' | 'authorization-malformed' | 'invalid-token' | 'insufficient-scope',
  detail: string,
  { realm, metadataUrl }: ChallengeContext,
  { error, scope = null }: Parameters,
): () => ProblemError {
  const parameters = {
    realm,
    ...(error === undefined ? {} : { error, error_description: detail }),
    ...(scope === null ? {} : { scope }),
    ...(metadataUrl === null ? {} : { resource_metadata: metadataUrl }),
  }
  const challenge = Object.entries(parameters).map(([name, value]) => `${name}=${quoted(value)}`)
  const headers = { 'www-authenticate': `Bearer ${challenge.join(', ')}` }
  return () => new ProblemError(code, { detail, headers })
}

// RFC 9110 §5.6.4
function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

export interface Requirement {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
  readonly refusals: Refusals
}

export const knownToken = requestSlot<VerifiedToken>('bearer.known')

export const bearerRules = ['credentials', 'token', 'scope', 'issuer'] as const
type BearerRule = (typeof bearerRules)[number]

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
