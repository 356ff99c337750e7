/** Maximum length of a key, in characters. */
export const maxKeyLength = 255

/**
 * Returns the key of a field value of `Idempotency-Key`: a String of RFC 9651 §3.3.3 without parameters, as the draft says,
 * or the same characters without quotes, as most clients send it; `null` for anything else. Values of several field lines
 * arrive joined by a comma, which a key without quotes cannot have.
 */
export function readKey(fieldValue: string): string | null {
  if (fieldValue.length > 2 * maxKeyLength + 2) return null
  const key = bareKey.test(fieldValue) ? fieldValue : textOf(fieldValue)
  return key.length === 0 || key.length > maxKeyLength ? null : key
}

/** Returns the text of a String; nothing for anything else. */
function textOf(string: string): string {
  if (!quotedKey.test(string)) return ''
  const text = string.slice(1, -1)
  return text.includes('\\') ? text.replace(/\\(.)/g, '$1') : text
}

const quotedKey = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/
// Visible ASCII but for the characters that separate or quote: " , ; \
const bareKey = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/
