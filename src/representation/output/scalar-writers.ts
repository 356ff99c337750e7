import { textOf } from './json-text.js'
import { utcText } from './utc-text.js'

// What these write is what fast-json-stringify writes of the same value under the same schema.

/** A string. */
export function writeText(value: unknown): string {
  if (typeof value === 'string') return textOf(value)
  if (value === null) return '""'
  if (value instanceof Date) return `"${utcText(value)}"`
  if (value instanceof RegExp) return textOf(value.source)
  return textOf(String(value))
}

/** A Date or a string, by the format of the schema. */
export const dateWriters = {
  'date-time': (value: unknown) => writeDate(value, utcText),
  date: (value: unknown) => writeDate(value, (date) => localIso(date).slice(0, 10)),
  time: (value: unknown) => writeDate(value, (date) => (localIso(date).split('T')[1] ?? '').slice(0, 8)),
} as const

function writeDate(value: unknown, format: (date: Date) => string): string {
  if (typeof value === 'string') return textOf(value)
  if (value === null) return '""'
  if (value instanceof Date) return `"${format(value)}"`
  throw new TypeError(`a value of type ${typeof value} is no date`)
}

function localIso(date: Date): string {
  return utcText(new Date(date.getTime() - date.getTimezoneOffset() * 60_000))
}

/** An integer that is not declared to be of 64 bits. */
export function writeInteger(value: unknown): string {
  if (Number.isInteger(value) || typeof value === 'bigint') return `${value as number | bigint}`
  const integer = Math.trunc(value as number)
  if (!Number.isFinite(integer)) throw new TypeError(`a value of type ${typeof value} is no integer`)
  return `${integer}`
}

/** A number. */
export function writeNumber(value: unknown): string {
  if (Number.isFinite(value)) return `${value as number}`
  if (typeof value === 'bigint') return value.toString()
  const number = Number(value)
  if (Number.isNaN(number)) throw new TypeError(`a value of type ${typeof value} is no number`)
  return Number.isFinite(number) ? `${number}` : 'null'
}
