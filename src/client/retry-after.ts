/** No answer makes a client come back sooner, in milliseconds. */
export const shortestWait = 1_000

/** The longest interval between two looks at what is running, in milliseconds: "some tens of seconds". */
export const longestInterval = 60_000

/** The longest wait for a service that has stopped (503) or had enough (429), in milliseconds. */
export const longestStop = 3_600_000

/**
 * How long to wait after an answer, in milliseconds: what its `Retry-After` says (RFC 9110 §10.2.3), in seconds or as
 * IMF-fixdate. Anything else is taken for absent.
 *
 * A date counts from the `Date` of the answer, where that can be read: the clock of a client may be wrong.
 *
 * @param otherwise milliseconds, where the answer does not say
 * @param now milliseconds since the epoch
 */
export function waitAfter(headers: Headers, otherwise: number, now: number): number {
  const stated = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(stated)) return Number(stated) * 1000
  const until = timeOf(stated)
  return until ? until - (timeOf(headers.get('date')) || now) : otherwise
}

/** Keeps a wait within bounds. A value that is not a number becomes the shortest wait. */
export function bounded(wait: number, longest: number): number {
  return wait > shortestWait ? Math.min(wait, longest) : shortestWait
}

/** The time that an IMF-fixdate tells; 0 for anything else. */
function timeOf(text: string | null): number {
  const time = Date.parse(text ?? '')
  // ECMAScript specifies that format for toUTCString.
  return new Date(time).toUTCString() === text ? time : 0
}
