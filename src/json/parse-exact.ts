import { isDecimal } from './int64.js'
import { hasLongDigits, longRun } from './json-text.js'

export function parseExact(json: string): unknown {
  const holder = { value: JSON.parse(json) as unknown }
  if (hasLongDigits(json)) restore(holder, { value: JSON.parse(quoteLongNumbers(json)) })
  return holder.value
}

// Numbers that a Number writes in other characters, such as `1.10`, `-0` and `1e5`. Texts may look like one.
const rewritten =
  /[\d.]{16}|\d[eE][+-]?\d+(?=[,\]}\s]|$)|\.\d*0(?=[,\]}\s]|$)|(?:^|[:,[\s])-0(?![\d.])|0\.0{6}/

/** Parses JSON so that each number that a Number would write in other characters is the text of its characters. */
export function parseCharacters(json: string): unknown {
  return JSON.parse(rewritten.test(json) ? quoteLongNumbers(json, 1) : json)
}

/** Puts quotes around each number of 16 characters or more, so that `JSON.parse` keeps its digits as text. */
export function quoteLongNumbers(json: string, length: number = longRun): string {
  let quoted = ''
  let taken = 0
  for (let index = 0; index < json.length; ) {
    const code = json.charCodeAt(index)
    if (code === quote) {
      index = endOfString(json, index + 1)
    } else if (isDigit(code) || code === minus) {
      const end = endOfNumber(json, index + 1)
      if (end - index >= length) {
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
function restore(root: Container, written: Container): void {
  const left: [Container, Container][] = [[root, written]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [values, texts] = next
    for (const key of Object.keys(texts)) {
      const [value, text] = [values[key], texts[key]]
      if (typeof value === 'object' && value !== null) left.push([value as Container, text as Container])
      else if (typeof value === 'number' && typeof text === 'string')
        values[key] = isLost(value, text) ? BigInt(text) : value
    }
  }
}

function isLost(value: number, text: string): boolean {
  const digits = text.startsWith('-') ? text.length - 1 : text.length
  return !Number.isSafeInteger(value) && digits <= maxDigits && isDecimal(text)
}

// Those of the largest integer of 64 bits.
const maxDigits = 20

const quote = 0x22
const plus = 0x2b
const minus = 0x2d
const dot = 0x2e
const backslash = 0x5c
const lowerE = 0x65

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
  while (end < json.length && isNumberPart(json.charCodeAt(end))) end++
  return end
}

function isNumberPart(code: number): boolean {
  return isDigit(code) || code === dot || code === minus || code === plus || (code | 0x20) === lowerE
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
