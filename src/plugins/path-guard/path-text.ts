// RFC 3986 §3.3: what is not a pchar needs encoding; an escape says that something did.
const outsidePath = /[^A-Za-z0-9\-._~!$&'()*+,;=:@]/

const escapes = /(?:%[0-9A-Fa-f]{2})+/g

// Letters that do not come apart into one of ASCII and its marks.
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

/** Stands for the name of a collection that the path does not tell. */
export const anyCollection = 'items'

/** Whether a literal has uppercase letters; the hex digits of an escape are none. */
export function hasUppercase(text: string): boolean {
  return /[A-Z]/.test(text.includes('%') ? text.replace(escapes, '') : text)
}

/** Whether a literal joins words by an underscore. */
export function hasUnderscore(text: string): boolean {
  return text.includes('_')
}

/** Whether a literal has characters that are encoded or would have to be. */
export function needsEncoding(text: string): boolean {
  return outsidePath.test(text)
}

/** A literal in lowercase, the words of camelCase joined by hyphens; escapes stay as they are. */
export function lowercase(text: string): string {
  if (!text.includes('%')) return lowercaseLetters(text)
  return text.replace(/%[0-9A-Fa-f]{2}|[^%]+/g, (stretch) =>
    stretch.startsWith('%') ? stretch : lowercaseLetters(stretch),
  )
}

/** A literal with words joined by hyphens, none at the ends. */
export function hyphenated(text: string): string {
  return hasUnderscore(text) ? withoutOuterHyphens(innerHyphens(text)) : text
}

/** The same within a segment that has a parameter, where a hyphen at the end joins it to that. */
export function innerHyphens(text: string): string {
  return text.replace(/[-_]+/g, (run) => (run.includes('_') ? '-' : run))
}

/** A literal without characters that need encoding; `''` where it has no letter and no digit. */
export function plainText(text: string): string {
  const decoded = decodedText(text)
  const plain = withoutOuterHyphens(unreserved(decoded))
  if (/[A-Za-z0-9]/.test(plain)) return plain
  return /[\p{L}\p{N}]/u.test(decoded) ? anyCollection : ''
}

/** The same within a segment that has a parameter. */
export function innerPlainText(text: string): string {
  return unreserved(decodedText(text))
}

/** A literal as the words it is meant to be: `purchase-orders` of `PurchaseOrders` and `purchase%20orders`. */
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
