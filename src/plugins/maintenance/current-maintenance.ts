import type { MaintenanceNotice } from './notice.js'

/** Who says that there is maintenance: `app.maintenance.enable()` here or on another instance, the file, a window. */
export type MaintenanceSource = 'switch' | 'file' | 'window'

/** A maintenance that somebody announced. */
export interface Claim {
  readonly source: MaintenanceSource
  /** When it begins, in milliseconds since the epoch; `-Infinity` where it has begun. */
  readonly from: number
  /** When it ends, in milliseconds since the epoch; `Infinity` where nobody said. */
  readonly until: number
  readonly retryAfter: number | null
  readonly reason: string | null
}

/** What holds at a moment. */
export interface Current {
  /** The claim that counts, with the end of what follows it without a gap; `null` where there is no maintenance. */
  readonly claim: Claim | null
  /** When something changes by itself, in milliseconds since the epoch; `Infinity` for never. */
  readonly nextChange: number
}

/** A notice as a claim that holds from the beginning. */
export function claimOf(source: MaintenanceSource, { until, retryAfter, reason }: MaintenanceNotice): Claim {
  return {
    source,
    from: Number.NEGATIVE_INFINITY,
    until: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
    retryAfter: retryAfter ?? null,
    reason: reason ?? null,
  }
}

/**
 * Which of several claims holds: the one that ends last, of equals the first. Its end is that of the last claim that
 * follows without a gap, so that nobody is told to come back into the next maintenance.
 */
export function currentMaintenance(claims: readonly Claim[], now: number): Current {
  const ahead = claims.flatMap(({ from, until }) => [from, until]).filter((time) => time > now)
  const nextChange = Math.min(Number.POSITIVE_INFINITY, ...ahead)
  const holding = claims.filter(({ from, until }) => from <= now && now < until)
  const [first, ...others] = holding
  if (first === undefined) return { claim: null, nextChange }
  const longest = others.reduce((one, other) => (other.until > one.until ? other : one), first)
  let { until } = longest
  for (const claim of claims.toSorted((one, other) => one.from - other.from)) {
    if (claim.from <= until && claim.until > until) until = claim.until
  }
  return { claim: until === longest.until ? longest : { ...longest, until }, nextChange }
}
