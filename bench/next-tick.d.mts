/** Collects garbage ten times while nothing else runs. */
export function collectWhileIdle(): Promise<void>
/** Returns the ns of CPU time that a tick takes, in the cheapest of fifty rounds. */
export function costOfTick(): Promise<number>
