const digits = /^(?:0|-?[1-9]\d{0,18})$/

/** Largest integer of 64 bits with sign. */
export const maxInt64 = 2n ** 63n - 1n

/** Smallest integer of 64 bits with sign. */
export const minInt64 = -(2n ** 63n)

/** The exact integer that a canonical decimal string stands for; `null` for other text and beyond 64 bits. */
export function parseInt64(text: string): bigint | null {
  if (!digits.test(text)) return null
  const value = BigInt(text)
  return value > maxInt64 || value < minInt64 ? null : value
}
