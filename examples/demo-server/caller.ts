import type { FastifyRequest } from 'fastify'
import { ProblemError } from 'fastify-conventions'

/** The scope of tokens that see and change the records of all users; without it those of their own user. */
export const adminScope = 'admin'

const ofCollections = ['users', 'friends', 'orders', 'subscriptions', 'payments'].flatMap((name) => [
  [`${name}:read`, `Read ${name}`],
  [`${name}:write`, `Create, change and delete ${name}`],
])

export const scopes: Readonly<Record<string, string>> = {
  ...Object.fromEntries(ofCollections),
  [adminScope]: 'Do so with the records of all users',
}

export const userScopes: readonly string[] = Object.keys(scopes).filter((scope) => scope !== adminScope)

export type Owner = bigint | 'all'

export type Called = Pick<FastifyRequest, 'caller'>

const maxId = 2n ** 63n - 1n

export function userIdOf(subject: string): bigint | null {
  if (!/^[1-9]\d{0,18}$/.test(subject)) return null
  const id = BigInt(subject)
  return id <= maxId ? id : null
}

// The token of a client without the scope `admin` has no records of its own.
export function ownerOf(request: Called): Owner {
  return isAdmin(request) ? 'all' : requireUser(request)
}

export function isAdmin({ caller }: Called): boolean {
  return caller?.scopes.includes(adminScope) === true
}

export function requireUser({ caller }: Called): bigint {
  const id = userIdOf(caller?.subject ?? '')
  if (id === null) throw forbidden('the token is of a client that acts for itself, not of a user')
  return id
}

/** Returns the problem of a request that its caller may not send: what it would need is not a secret. */
export function forbidden(detail: string): ProblemError {
  return new ProblemError('forbidden', { status: 403, detail })
}

export function refuseReserved(request: Called, changes: object, reserved: readonly string[]): void {
  const changed = reserved.filter((name) => name in changes)
  if (changed.length > 0 && ownerOf(request) !== 'all')
    throw forbidden(`${changed.join(', ')}: only an admin changes it`)
}

export function refuseForeign(request: Called, user_id: bigint | undefined, item: string): void {
  const owner = ownerOf(request)
  if (owner === 'all' || user_id === undefined || user_id === owner) return
  throw forbidden(`user_id: only an admin writes ${item} of another user`)
}
