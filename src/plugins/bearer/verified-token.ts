import type { Caller } from '../../fastify/caller.js'

/** A token that was verified. */
export interface VerifiedToken {
  readonly caller: Caller
  /** When it has to be verified again, in milliseconds since the epoch. */
  readonly verifyAgainAt: number
}

/** Verifies a token. */
export type VerifyToken = (token: string) => Promise<VerifiedToken>

/** A token is not valid. The message is for the log, and has nothing of the token. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
}

/** The issuer cannot be reached, or its response cannot be used. */
export class IssuerUnavailable extends Error {
  override readonly name: string = 'IssuerUnavailable'
}

/** The issuer has refused a request with a status of 4xx: because of what it was asked, so that it answers other requests. */
export class IssuerRefused extends IssuerUnavailable {
  override readonly name = 'IssuerRefused'

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message)
  }
}

/** Returns the caller of a token from its claims, which are frozen: several requests share them. */
export function callerOf(claims: Record<string, unknown>, scopeClaim: string): Caller {
  const { sub, cnf } = claims
  // RFC 7800, 8705, 9449: nothing here proves that the client has the key.
  if (cnf !== undefined) throw new TokenRefused('the token is bound to a key of the client (cnf)')
  if (typeof sub !== 'string' || sub === '') throw new TokenRefused('the claim sub is not a text')
  return Object.freeze({
    subject: sub,
    scopes: Object.freeze(scopesOf(claims[scopeClaim], scopeClaim)),
    claims: deepFreeze(claims),
  })
}

function scopesOf(given: unknown, claim: string): string[] {
  if (given === undefined || given === null) return []
  const list: unknown = typeof given === 'string' ? given.split(' ') : given
  if (!Array.isArray(list) || !list.every((scope) => typeof scope === 'string'))
    throw new TokenRefused(`the claim ${claim} is neither a text nor a list of texts`)
  return [...new Set(list as string[])].filter((scope) => scope !== '')
}

/** Whether one of the audiences of a token is one of this service's. */
export function isForAudience(aud: unknown, audience: readonly string[]): boolean {
  return [aud].flat().some((one) => typeof one === 'string' && audience.includes(one))
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
