import { isDecimal, valueTwin } from './int64.js'

/** The JSON of a value as `JSON.stringify` writes it, and BigInts as numbers; with `twins`, unsafe ones have twins. */
export function exactJson(value: unknown, twins: boolean): string | undefined {
  // The native writer is several times faster. It refuses a BigInt, unless the app has taught it otherwise.
  if (!isBigIntPatched() || !holdsBigInt(value)) {
    try {
      return JSON.stringify(value)
    } catch {
      // A BigInt, or a circle: the exact writer tells them apart.
    }
  }
  return exact(value, '', twins, 0)
}

/** Whether the app has given BigInts a `toJSON`, so that `JSON.stringify` writes them. */
export function isBigIntPatched(): boolean {
  return 'toJSON' in BigInt.prototype
}

export function holdsBigInt(value: unknown): boolean {
  return someIn(value, (one) => typeof one === 'bigint')
}

/** The digits of the BigInts and of the decimal texts in a value. */
export function digitsIn(value: unknown): ReadonlySet<string> {
  const digits = new Set<string>()
  someIn(value, (one) => {
    if (typeof one === 'bigint' || (typeof one === 'string' && isDecimal(one))) digits.add(`${one}`)
    return false
  })
  return digits
}

/** Whether a part of a value that JSON would have passes a test. */
function someIn(value: unknown, test: (part: unknown) => boolean): boolean {
  const seen = new Set<object>()
  const visit = (given: unknown, key: string): boolean => {
    if (typeof given !== 'object' || given === null) return test(given)
    if (seen.has(given)) return false
    seen.add(given)
    const plain = plainValue(given, key)
    if (typeof plain !== 'object' || plain === null) return visit(plain, key)
    if (plain !== given) {
      if (seen.has(plain)) return false
      seen.add(plain)
    }
    if (ArrayBuffer.isView(plain) && !(plain instanceof BigInt64Array || plain instanceof BigUint64Array))
      return false
    return Object.keys(plain).some((name) => visit((plain as Readonly<Record<string, unknown>>)[name], name))
  }
  try {
    return visit(value, '')
  } catch {
    // A getter that throws may belong to a member that is not written. If it is written, the writer gets the error.
    return false
  }
}

const maxDepth = 500

function exact(given: unknown, key: string, twins: boolean, depth: number): string | undefined {
  const value = plainValue(given, key)
  if (typeof value === 'string') return textOf(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (depth >= maxDepth)
    throw new TypeError(`a value goes deeper than ${maxDepth} levels, or round in a circle`)
  return Array.isArray(value) ? exactArray(value, twins, depth + 1) : exactObject(value, twins, depth + 1)
}

function exactArray(items: readonly unknown[], twins: boolean, depth: number): string {
  // Holes count: `map` would skip them.
  const written = Array.from(items, (item, index) => exact(item, `${index}`, twins, depth) ?? 'null')
  return `[${written.join(',')}]`
}

function exactObject(object: object, twins: boolean, depth: number): string {
  const members: string[] = []
  for (const [key, value] of Object.entries(object)) {
    const json = exact(value, key, twins, depth)
    if (json === undefined) continue
    members.push(`${textOf(key)}:${json}`)
    const twin = twins && !Object.hasOwn(object, `${key}_str`) ? valueTwin(value) : null
    if (twin !== null) members.push(`${textOf(`${key}_str`)}:${twin}`)
  }
  return `{${members.join(',')}}`
}

function plainValue(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  // `Object(1n)` is a BigInt, whatever `toJSON` the app has given to BigInts.
  if (value instanceof BigInt) return value.valueOf()
  const json = jsonValueOf(value, key)
  if (json !== value) return json
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf()
  return value
}

export function jsonValueOf(value: unknown, key?: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value
  const { toJSON } = value as { readonly toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value, key) : value
}

/** @param exact returns the digits of which a number becomes a BigInt, by default all: another stays as it is rounded */
export function parseExact(json: string, exact?: () => ReadonlySet<string>): unknown {
  const holder = { value: JSON.parse(json) as unknown }
  if (hasLongDigits(json)) restore(holder, { value: JSON.parse(quoteLongNumbers(json)) }, exact?.())
  return holder.value
}

/** Puts quotes around each number of 16 characters or more, so that `JSON.parse` keeps its digits as text. */
export function quoteLongNumbers(json: string): string {
  let quoted = ''
  let taken = 0
  for (let index = 0; index < json.length; ) {
    const code = json.charCodeAt(index)
    if (code === quote) {
      index = endOfString(json, index + 1)
    } else if (isDigit(code) || code === minus) {
      const end = endOfNumber(json, index + 1)
      if (end - index >= longRun) {
        quoted += `${json.slice(taken, index)}"${json.slice(index, end)}"`
        taken = end
      }
      index = end
    } else {
      index++
    }
  }
  return quoted + json.slice(taken)
}

type Container = Record<string, unknown>

// Not recursive: a body may nest deeper than the stack of calls.
function restore(root: Container, written: Container, exact?: ReadonlySet<string>): void {
  const left: [Container, Container][] = [[root, written]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [values, texts] = next
    for (const key of Object.keys(texts)) {
      const [value, text] = [values[key], texts[key]]
      if (typeof value === 'object' && value !== null) left.push([value as Container, text as Container])
      else if (typeof value === 'number' && typeof text === 'string')
        values[key] = isLost(value, text) && exact?.has(text) !== false ? BigInt(text) : value
    }
  }
}

function isLost(value: number, text: string): boolean {
  const digits = text.startsWith('-') ? text.length - 1 : text.length
  return !Number.isSafeInteger(value) && digits <= maxDigits && isDecimal(text)
}

// Those of the largest integer of 64 bits.
const maxDigits = 20

function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end >= 0; end = json.indexOf('"', end + 1)) {
    let first = end
    while (first > start && json.charCodeAt(first - 1) === backslash) first--
    if ((end - first) % 2 === 0) return end + 1
  }
  return json.length
}

function endOfNumber(json: string, start: number): number {
  let end = start
  while (isDigit(json.charCodeAt(end)) || (end < json.length && '.-+eE'.includes(json.charAt(end)))) end++
  return end
}

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
const quote = 0x22
const backslash = 0x5c
// What JSON escapes: control characters, quote, backslash, and surrogates, of which a lone one is escaped.
const special = /[^\u0020-\u0021\u0023-\u005b\u005d-\ud7ff\ue000-\uffff]/

/** Looks at every 16th character only: a run that long has one of them. A point is in it: `100.000000000000001` is rounded, too. */
export function hasLongDigits(json: string): boolean {
  return someLongRun(json, () => true)
}

export function hasLongInteger(json: string): boolean {
  return someLongRun(json, (start, end) => {
    const before = json.charCodeAt(start - 1) === minus ? start - 2 : start - 1
    const isInside = insideOfToken.has(json.charAt(before)) || insideOfToken.has(json.charAt(end))
    return !isInside && !json.slice(start, end).includes('.')
  })
}

export const longRun = 16
const minus = 0x2d
const point = 0x2e
// A run of digits beside one of these is only a part of a number, or of a text.
const insideOfToken = new Set('"eE+')

function someLongRun(json: string, test: (start: number, end: number) => boolean): boolean {
  for (let index = longRun - 1; index < json.length; index += longRun) {
    if (!isDigitOrPoint(json.charCodeAt(index))) continue
    let start = index
    let end = index + 1
    while (isDigitOrPoint(json.charCodeAt(start - 1))) start--
    while (isDigitOrPoint(json.charCodeAt(end))) end++
    if (end - start >= longRun && test(start, end)) return true
    // A run is looked at once, however long it is.
    index = end - (end % longRun) - 1
  }
  return false
}

function isDigitOrPoint(code: number): boolean {
  return isDigit(code) || code === point
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
