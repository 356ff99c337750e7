import { type Check, invalid } from '../options.js'

/** Returns the length of a time window in milliseconds; `null` if it is not valid or shorter than one second. */
export function timeWindowOf(window: unknown): number | null {
  const milliseconds =
    typeof window === 'number' ? window : typeof window === 'string' ? read(window) : Number.NaN
  return Number.isSafeInteger(milliseconds) && milliseconds >= 1000 ? milliseconds : null
}

/** Checks an option that is a time window. Its value is milliseconds. */
export const duration: Check<number | string> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '30s'", received)

const units: readonly (readonly [name: RegExp, milliseconds: number])[] = [
  [/^(?:ms|milliseconds?)$/, 1],
  [/^(?:s|secs?|seconds?)$/, 1000],
  [/^(?:m|mins?|minutes?)$/, 60_000],
  [/^(?:h|hrs?|hours?)$/, 3_600_000],
  [/^(?:d|days?)$/, 86_400_000],
]

function read(text: string): number {
  const [, digits, name] = /^(\d{1,15}(?:\.\d{1,3})?) ?([a-z]+)$/.exec(text) ?? []
  const unit = units.find(([pattern]) => name !== undefined && pattern.test(name))
  return unit === undefined ? Number.NaN : Math.round(Number(digits) * unit[1])
}
