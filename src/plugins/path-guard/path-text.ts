// RFC 3986 §3.3: a character that is not a pchar needs encoding. `%` counts too, because it begins an escape.
const outsidePath = /[^A-Za-z0-9\-._~!$&'()*+,;=:@]/

const escapes = /(?:%[0-9A-Fa-f]{2})+/g

// Letters that Unicode does not decompose into an ASCII letter and marks.
const spelled: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}
const spelledLetter = new RegExp(`[${Object.keys(spelled).join('')}]`, 'gi')

/** Placeholder for the name of a collection that the path does not give. */
export const anyCollection = 'items'

/** Whether a literal has uppercase letters; the hex digits of an escape do not count. */
export function hasUppercase(text: string): boolean {
  return /[A-Z]/.test(text.includes('%') ? text.replace(escapes, '') : text)
}

export function hasUnderscore(text: string): boolean {
  return text.includes('_')
}

export function needsEncoding(text: string): boolean {
  return outsidePath.test(text)
}

/** Returns a literal in lowercase, with hyphens between words in camelCase; escapes are kept. */
export function lowercase(text: string): string {
  if (!text.includes('%')) return lowercaseLetters(text)
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+/g, (part) =>
    part.startsWith('%') ? part : lowercaseLetters(part),
  )
}

export function hyphenated(text: string): string {
  return hasUnderscore(text) ? withoutOuterHyphens(innerHyphens(text)) : text
}

export function innerHyphens(text: string): string {
  return text.replace(/[-_]+/g, (run) => (run.includes('_') ? '-' : run))
}

/** Returns a literal without characters that need encoding; `''` if it has no letters and digits. */
export function plainText(text: string): string {
  const decoded = decodedText(text)
  const plain = withoutOuterHyphens(unreserved(decoded))
  if (/[A-Za-z0-9]/.test(plain)) return plain
  return /[\p{L}\p{N}]/u.test(decoded) ? anyCollection : ''
}

export function innerPlainText(text: string): string {
  return unreserved(decodedText(text))
}

/** Returns a literal in kebab-case: `purchase-orders` for `PurchaseOrders` and `purchase%20orders`. */
export function kebab(text: string): string {
  return hyphenated(lowercase(needsEncoding(text) ? plainText(text) : text))
}

function lowercaseLetters(text: string): string {
  if (!/[A-Z]/.test(text)) return text
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
}

function unreserved(text: string): string {
  return text
    .replace(spelledLetter, spelledOut)
    .normalize('NFKD')
    .replace(/[\p{M}'’]+/gu, '')
    .replace(/[^A-Za-z0-9\-._~]+/g, '-')
}

function spelledOut(letter: string): string {
  const small = spelled[letter.toLowerCase()] ?? ''
  return letter === letter.toLowerCase() ? small : `${small.slice(0, 1).toUpperCase()}${small.slice(1)}`
}

function decodedText(text: string): string {
  return text.replace(escapes, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      return '-'
    }
  })
}

function withoutOuterHyphens(text: string): string {
  let start = 0
  let end = text.length
  while (text[start] === '-') start++
  while (end > start && text[end - 1] === '-') end--
  return text.slice(start, end)
}
