const decimal = /^(?:0|-?[1-9]\d*)$/
const maxDecimalLength = '-9223372036854775808'.length

/** Largest integer of 64 bits with sign. */
export const maxInt64 = 2n ** 63n - 1n

/** Smallest integer of 64 bits with sign. */
export const minInt64 = -(2n ** 63n)

/** Whether a text is an integer in plain decimal digits, as `String` writes a BigInt: no `+`, no `-0`, no leading zeros. */
export function isDecimal(text: string): boolean {
  return decimal.test(text)
}

/** The exact integer that a canonical decimal string stands for; `null` for other text and beyond 64 bits. */
export function parseInt64(text: string): bigint | null {
  if (text.length > maxDecimalLength || !isDecimal(text)) return null
  const value = BigInt(text)
  return value > maxInt64 || value < minInt64 ? null : value
}
