/** Bounds of what a client is told to wait before it asks again, in seconds. */
export interface PollInterval {
  readonly min: number
  readonly max: number
  /** Where nothing is known of how long it takes. */
  readonly initial: number
}

/**
 * Seconds after which it is worth to ask again (`Retry-After`, RFC 9110 §10.2.3): what is left of the usual time, and for
 * what takes longer than usual a quarter of what it took so far.
 *
 * @param usual milliseconds that it usually takes; `null` where that is not known
 * @param elapsed milliseconds since it was started
 */
export function pollAfter(
  usual: number | null,
  elapsed: number,
  { min, max, initial }: PollInterval,
): number {
  if (usual === null) return Math.min(Math.max(initial, min), max)
  const left = usual > elapsed ? usual - elapsed : elapsed / 4
  return Math.min(Math.max(Math.ceil(left / 1000), min), max)
}
