/** What a client prefers of how its request is answered (RFC 7240). */
export interface Preferences {
  /** `respond-async` (§4.1): it would rather have a 202 than wait. */
  readonly respondAsync: boolean
  /** `wait` (§4.3), seconds: how long it is willing to wait; `null` where it does not say. */
  readonly wait: number | null
}

/** Nothing is preferred. */
export const noPreferences: Preferences = Object.freeze({ respondAsync: false, wait: null })

/**
 * Reads `Prefer` (RFC 7240 §2). The first of a preference that stands there twice counts; what is not known, or not
 * written as it should be, is as if it were not there. Parameters are not read: none is known.
 */
export function readPrefer(field: string | undefined): Preferences {
  if (field === undefined || field.length > longest) return noPreferences
  const found = new Map<string, string>()
  for (const [part] of field.matchAll(parts)) {
    const [withoutParameters = ''] = head.exec(part) ?? []
    const [, name, value = ''] = preference.exec(withoutParameters.trim()) ?? []
    if (name !== undefined && !found.has(name.toLowerCase())) found.set(name.toLowerCase(), unquoted(value))
  }
  return { respondAsync: found.get('respond-async') === '', wait: secondsOf(found.get('wait')) }
}

const longest = 1024

const preference = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(.*))?$/s

// Quoted texts hold commas and semicolons too. One that does not end goes to the end of the field: so no place of it is
// looked at twice.
const parts = /(?:[^",]|"(?:[^"\\]|\\.)*\\?(?:"|$))+/gs
const head = /^(?:[^";]|"(?:[^"\\]|\\.)*\\?(?:"|$))*/s

function unquoted(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

// Seconds that are more than anyone waits are as good as any others.
function secondsOf(value: string | undefined): number | null {
  return value !== undefined && /^\d+$/.test(value) ? Math.min(Number(value), 1_000_000_000) : null
}
