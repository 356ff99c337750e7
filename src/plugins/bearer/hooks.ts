import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { verifiedAuthorization } from '../../convention/caller.js'
import type { Effect, RequestStep, StepResult } from '../../convention/steps.js'
import { isRepeated, quoted } from '../../http/header-fields.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { DocumentOperation } from '../../schema/openapi.js'
import { isPromise } from '../../time/async.js'
import type { ResolvedBearer } from './options.js'
import { IssuerUnavailable, type TokenCache, TokenRefused, type VerifiedToken } from './tokens.js'

/** The credentials of a request: a token, `none` of the scheme Bearer, or `malformed` ones. */
type Credentials = { readonly token: string } | 'none' | 'malformed'

/** Maximum number of characters of a token. Node.js has a limit of its own for all header fields, 16 KB by default. */
const maxTokenLength = 16_384

// RFC 6750 §2.1: b64token. RFC 9110 §11.1: the name of the scheme has no case.
const scheme = /^bearer(?: |$)/i
const form = /^bearer +([\w.~+/-]+=*) *$/i

function credentialsOf({
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

type Refusal = (code: keyof typeof errorOf, detail: string) => ProblemError

// RFC 6750 §3.1: a request without credentials gets no error code.
const errorOf = {
  unauthorized: null,
  'authorization-malformed': 'invalid_request',
  'invalid-token': 'invalid_token',
  'insufficient-scope': 'insufficient_scope',
} as const

/** Returns a function that makes the problems of a route, each with its challenge (RFC 6750 §3). */
function refusalOf(realm: string, scopes: readonly string[]): Refusal {
  return function refuse(code, detail) {
    const error = errorOf[code]
    const parameters = {
      realm,
      ...(error !== null && { error, error_description: detail }),
      ...(scopes.length > 0 && error !== 'invalid_request' && { scope: scopes.join(' ') }),
    }
    const challenge = Object.entries(parameters).map(([name, value]) => `${name}=${quoted(value)}`)
    const headers = { 'www-authenticate': `Bearer ${challenge.join(', ')}` }
    return new ProblemError(code, { detail, headers })
  }
}

export interface Requirement {
  readonly scopes: readonly string[]
  readonly isOptional: boolean
}

export function authenticationOf(
  tokens: TokenCache,
  { realm, mode }: Pick<ResolvedBearer, 'realm' | 'mode'>,
  { scopes, isOptional }: Requirement,
): RequestStep {
  const refuse = refusalOf(realm, scopes)
  const lacking = `The token lacks a scope that is required here: ${scopes.join(' ')}`

  function admit({ caller }: VerifiedToken, request: FastifyRequest): Effect | undefined {
    if (!scopes.every((scope) => caller.scopes.includes(scope)))
      return { rule: 'scope', refusal: refuse('insufficient-scope', lacking) }
    if (mode === 'enforce') {
      request.caller = caller
      verifiedAuthorization.set(request, String(request.headers.authorization))
    }
    return undefined
  }

  function fail(error: unknown, { log }: FastifyRequest): Effect {
    if (error instanceof TokenRefused) {
      log.info({ reason: error.message }, 'bearer: the token is refused')
      return { rule: 'token', refusal: refuse('invalid-token', 'The token is not valid') }
    }
    if (error instanceof IssuerUnavailable) {
      const detail = 'Tokens cannot be verified at the moment; try again'
      const headers = { 'retry-after': '5', 'cache-control': 'no-store' }
      return { rule: 'issuer', refusal: new ProblemError('authentication-unavailable', { detail, headers }) }
    }
    throw error
  }

  return function authenticate(request): StepResult {
    const credentials = credentialsOf(request.raw)
    if (credentials === 'none') {
      if (isOptional) return undefined
      const detail = 'Send an access token as Authorization: Bearer'
      return { rule: 'credentials', refusal: refuse('unauthorized', detail) }
    }
    if (credentials === 'malformed') {
      const detail = 'Send the token once, in the header field Authorization'
      return { rule: 'credentials', refusal: refuse('authorization-malformed', detail) }
    }
    const verified = tokens.get(credentials.token)
    if (!isPromise(verified)) return admit(verified, request)
    return verified.then(
      (token) => admit(token, request),
      (error: unknown) => fail(error, request),
    )
  }
}

export function knownSubjectOf(tokens: TokenCache) {
  return function subjectOfKnownToken(request: FastifyRequest): string | null {
    const credentials = credentialsOf(request.raw)
    return typeof credentials === 'string' ? null : (tokens.known(credentials.token)?.caller.subject ?? null)
  }
}

/**
 * Adds the security requirement of a route, `null` for one that needs no token, and the scheme that it names. What the app
 * has itself stays.
 */
export function documentSecurity(
  { issuer, introspection, securityScheme: name = 'bearer' }: ResolvedBearer,
  requirement: Requirement | null,
): DocumentOperation {
  const scheme = {
    type: 'http',
    scheme: 'bearer',
    // Tokens that the issuer is asked about may be opaque.
    ...(introspection === undefined && { bearerFormat: 'JWT' }),
    description: `An access token of ${issuer}, in Authorization: Bearer (RFC 6750)`,
  }
  return (operation, { document, is30 }) => {
    document.components ??= {}
    const schemes = { [name]: scheme, ...document.components.securitySchemes }
    document.components.securitySchemes = schemes
    if (operation.security !== undefined) return operation
    // OpenAPI 3.0 §4.7.30 has scopes in two types only.
    const takesScopes = !is30 || schemes[name]?.type !== 'http'
    const required = requirement === null ? [] : [{ [name]: takesScopes ? [...requirement.scopes] : [] }]
    return { ...operation, security: requirement?.isOptional === true ? [{}, ...required] : required }
  }
}

export function describeRefusals({ scopes, isOptional }: Requirement): RouteDescription {
  return {
    problems: problemsOf({
      'authorization-malformed': 'The token is sent in more than one way',
      ...(!isOptional && { unauthorized: 'There is no token' }),
      'invalid-token': 'The token is not valid',
      ...(scopes.length > 0 && { 'insufficient-scope': `The token lacks a scope: ${scopes.join(' ')}` }),
      'authentication-unavailable': 'The token cannot be verified at the moment',
    }),
    headersOf: { 400: challenge, 401: challenge, 403: challenge },
  }
}

const challenge = {
  'WWW-Authenticate': { type: 'string', description: 'What a request needs (RFC 6750 §3)' },
}
