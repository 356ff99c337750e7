import { listMembers, memberParts } from '../../http/list-header.js'

/** The preferences of a client that this package supports (RFC 7240). */
export interface Preferences {
  /** `respond-async` (§4.1): whether the client prefers a 202 over waiting. */
  readonly respondAsync: boolean
  /** `wait` (§4.3): how long the client is willing to wait, in seconds; `null` if not given. */
  readonly wait: number | null
}

/** The preferences of a request without `Prefer`. */
export const noPreferences: Preferences = Object.freeze({ respondAsync: false, wait: null })

/**
 * Reads `Prefer` (RFC 7240 §2). The first occurrence of a preference counts. Unknown and invalid preferences and all
 * parameters are ignored, and so is a field of more than 1,024 characters.
 */
export function readPrefer(field: string | undefined): Preferences {
  if (field === undefined || field.length > maxLength) return noPreferences
  const found = new Map<string, string>()
  for (const member of listMembers(field)) {
    const [, name, value = ''] = preference.exec(memberParts(member)[0] ?? '') ?? []
    const key = name?.toLowerCase()
    if (key !== undefined && !found.has(key)) found.set(key, unquoted(value))
  }
  return { respondAsync: found.get('respond-async') === '', wait: secondsOf(found.get('wait')) }
}

const maxLength = 1024

const preference = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(.*))?$/s

function unquoted(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

// Bounded, so that the milliseconds of it are a safe integer.
function secondsOf(value: string | undefined): number | null {
  return value !== undefined && /^\d+$/.test(value) ? Math.min(Number(value), 1_000_000_000) : null
}
