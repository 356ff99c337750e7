export function textOf(text: string): string {
  return isPlainText(text) ? `"${text}"` : JSON.stringify(text)
}

/** `false` for a very long one, which is not looked at. */
export function isPlainText(text: string): boolean {
  const { length } = text
  // A loop is faster than a regular expression on a few characters, JSON.stringify is on thousands.
  if (length >= shortText) return length < longText && !special.test(text)
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code === quote || code === backslash || (code >= 0xd800 && code <= 0xdfff))
      return false
  }
  return true
}

const shortText = 12
const longText = 5000
export const quote = 0x22
export const backslash = 0x5c
// What JSON escapes: control characters, quote, backslash, and surrogates, of which a lone one is escaped.
const special = /[^\u0020-\u0021\u0023-\u005b\u005d-\ud7ff\ue000-\uffff]/

/** Looks at every 16th character only: a run that long has one of them. */
export function hasLongDigits(json: string): boolean {
  return someLongRun(json, () => true)
}

export function hasLongInteger(json: string): boolean {
  return someLongRun(json, (start, end) => {
    const before = json.charCodeAt(start - 1) === minus ? start - 2 : start - 1
    return !insideOfToken.has(json.charAt(before)) && !insideOfToken.has(json.charAt(end))
  })
}

export const longRun = 16
export const minus = 0x2d
// A run of digits beside one of these is only a part of a number, or of a text.
const insideOfToken = new Set('".eE+')

function someLongRun(json: string, test: (start: number, end: number) => boolean): boolean {
  for (let index = longRun - 1; index < json.length; index += longRun) {
    if (!isDigit(json.charCodeAt(index))) continue
    let start = index
    let end = index + 1
    while (isDigit(json.charCodeAt(start - 1))) start--
    while (isDigit(json.charCodeAt(end))) end++
    if (end - start >= longRun && test(start, end)) return true
    // A run is looked at once, however long it is.
    index = end - (end % longRun) - 1
  }
  return false
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** The reference token of a JSON Pointer for a member's name (RFC 6901 §3). */
export function pointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The member's name that a reference token of a JSON Pointer stands for (RFC 6901 §4). */
export function nameOfToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Returns JSON data as YAML 1.2 in block style, with texts as in JSON. */
export function yamlOf(data: unknown): string {
  return blockOf(JSON.parse(JSON.stringify(data)), '')
}

function blockOf(value: unknown, indent: string): string {
  return partsOf(value)
    .map(([head, one]) =>
      partsOf(one).length > 0
        ? `${indent}${head}\n${blockOf(one, `${indent}  `)}`
        : `${indent}${head} ${JSON.stringify(one)}\n`,
    )
    .join('')
}

function partsOf(value: unknown): [head: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.map((one) => ['-', one])
  return Object.entries(value).map(([name, one]) => [`${keyOf(name)}:`, one])
}

function keyOf(name: string): string {
  return /^[a-z][\w-]*$/i.test(name) && !notText.test(name) ? name : JSON.stringify(name)
}

// In YAML 1.1, too.
const notText = /^(?:true|false|null|yes|no|on|off|y|n)$/i
