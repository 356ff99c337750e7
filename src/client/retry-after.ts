/** The minimum wait, in milliseconds. */
export const shortestWait = 1_000

/** The maximum interval between two polls, in milliseconds. */
export const longestInterval = 60_000

/** The maximum wait after a 503 or a 429, in milliseconds. */
export const longestStop = 3_600_000

/**
 * Returns the wait after a response in milliseconds: its `Retry-After` (RFC 9110 §10.2.3), in seconds or as IMF-fixdate.
 * Other values are ignored.
 *
 * A date is compared with the `Date` of the response if that can be read, because the clock of a client may be wrong.
 *
 * @param otherwise milliseconds, if there is no valid `Retry-After`
 * @param now milliseconds since the epoch
 */
export function waitAfter(headers: Headers, otherwise: number, now: number): number {
  const stated = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(stated)) return Number(stated) * 1000
  const until = timeOf(stated)
  return until ? until - (timeOf(headers.get('date')) || now) : otherwise
}

/** Limits a wait to its bounds. A value that is not a number becomes the minimum. */
export function bounded(wait: number, longest: number): number {
  return wait > shortestWait ? Math.min(wait, longest) : shortestWait
}

/** Returns the time of an IMF-fixdate; 0 for any other text. */
function timeOf(text: string | null): number {
  const time = Date.parse(text ?? '')
  // ECMAScript specifies that format for toUTCString.
  return new Date(time).toUTCString() === text ? time : 0
}
