import { ProblemError } from '../../problem/problem-error.js'

/** What the challenges of a service have in common. */
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

/** Returns the problems of a route. */
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

/** Returns the problem of requests whose token cannot be verified at the moment. */
export function unavailable(): ProblemError {
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
