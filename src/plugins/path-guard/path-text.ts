// RFC 3986 §3.3: a character that is not a pchar needs encoding. `%` counts too, because it begins an escape.
const outsidePath = /[^A-Za-z0-9\-._~!$&'()*+,;=:@]/
const escapes = /(?:%[0-9A-Fa-f]{2})+/g

/** The rules for the characters of a literal: whether it breaks one, and the literal without the fault. */
export const textRules = {
  /** The hex digits of an escape do not count. */
  uppercase: { isBroken: (text: string) => /[A-Z]/.test(text.replace(escapes, '')), correct: lowercase },
  underscore: { isBroken: (text: string) => text.includes('_'), correct: hyphenated },
  encoding: { isBroken: (text: string) => outsidePath.test(text), correct: plainText },
} as const

export type TextRule = keyof typeof textRules

// What is plain can be in camelCase, and a word in lowercase can have underscores.
const order = ['encoding', 'uppercase', 'underscore'] as const

/** Returns a literal that keeps the rules; at the ends of a whole segment, no hyphens are left. */
export function corrected(text: string, rules: (rule: TextRule) => boolean, isWhole: boolean): string {
  let result = text
  for (const rule of order) {
    if (rules(rule) && textRules[rule].isBroken(result)) result = textRules[rule].correct(result)
  }
  return isWhole && result !== text ? withoutOuterHyphens(result) : result
}

/** Returns a literal in kebab-case: `purchase-orders` for `PurchaseOrders` and `purchase%20orders`. */
export function kebab(text: string): string {
  return corrected(text, () => true, true)
}

function lowercase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
}

function hyphenated(text: string): string {
  return text.replace(/[-_]+/g, (run) => (run.includes('_') ? '-' : run))
}

function plainText(text: string): string {
  return text
    .replace(escapes, decoded)
    .normalize('NFKD')
    .replace(/[\p{M}'’]+/gu, '')
    .replace(/[^A-Za-z0-9\-._~]+/g, '-')
}

function decoded(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    return '-'
  }
}

function withoutOuterHyphens(text: string): string {
  let start = 0
  let end = text.length
  while (text[start] === '-') start++
  while (end > start && text[end - 1] === '-') end--
  return text.slice(start, end)
}
