/**
 * The value of `RateLimit-Policy` for one policy, such as `"default";q=1000;w=60` (draft-ietf-httpapi-ratelimit-headers,
 * RFC 9651).
 *
 * @param name of the policy; what a structured string cannot have is percent-encoded
 * @param quota requests within the window
 * @param seconds the window
 */
export function quotaPolicy(name: string, quota: number, seconds: number): string {
  return `${sfString(name)};q=${quota};w=${seconds}`
}

/**
 * The value of `RateLimit` for one policy, such as `"default";r=999;t=60` (same draft).
 *
 * @param quotedName of the policy, as {@link sfString} gives it
 * @param remaining requests that are left
 * @param seconds until there is the whole quota again
 */
export function quotaState(quotedName: string, remaining: number, seconds: number): string {
  return `${quotedName};r=${remaining};t=${seconds}`
}

/** A String of RFC 9651 §3.3.3: visible ASCII in quotes. What is not ASCII is percent-encoded. */
export function sfString(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()))
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}

/**
 * Milliseconds in whole seconds, rounded up: who waits so long never comes too early.
 *
 * @param least the least number of seconds
 */
export function wholeSeconds(milliseconds: number, least = 0): number {
  return Math.max(least, Math.ceil(milliseconds / 1000))
}
