/** How far something is, from 0 to 1: the nearest such number; `null` for what is no number. */
export function progressOf(progress: unknown): number | null {
  return typeof progress === 'number' && !Number.isNaN(progress) ? Math.min(Math.max(progress, 0), 1) : null
}
