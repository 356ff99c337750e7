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
 * written as it should be, is as if it were not there.
 */
export function readPrefer(field: string | undefined): Preferences {
  if (field === undefined || field.length > longest) return noPreferences
  let respondAsync = false
  let wait: number | null | undefined
  for (const [, name = '', value] of field.matchAll(preference)) {
    const token = name.toLowerCase()
    if (token === 'respond-async') respondAsync = true
    else if (token === 'wait' && wait === undefined) wait = secondsOf(value)
  }
  return { respondAsync, wait: wait ?? null }
}

const longest = 1024

// A preference, its value, and its parameters, of which none is known; up to the comma, which a quoted text may have.
const preference =
  /(?:^|,)[ \t]*([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^",; \t]*))?(?:[ \t]*;(?:[^",]|"(?:[^"\\]|\\.)*")*)?[ \t]*(?=,|$)/g

function secondsOf(value: string | undefined): number | null {
  const digits = value?.startsWith('"') ? value.slice(1, -1) : value
  return digits !== undefined && /^\d{1,9}$/.test(digits) ? Number(digits) : null
}
