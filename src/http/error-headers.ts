import { isFieldName } from './field-name.js'

// They frame or describe the body that an error would have had: a problem document is another one.
const ofBody: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'trailer',
])

/** Can a problem have the header field: is it written as one, and not about another body? */
export function isProblemField(name: string, value: unknown): boolean {
  return isField(name, value) && !ofBody.has(name.toLowerCase())
}

/** Can the field be written at all (RFC 9110 §5.1, §5.5)? Node refuses others. */
export function isField(name: string, value: unknown): boolean {
  return isFieldName(name) && [value].flat().every(isFieldValue)
}

/**
 * The header fields that a problem takes over from an error that is none, as text. Of a 5xx that is `Retry-After` alone:
 * the others may tell what is inside the server. What cannot be written is still among them.
 *
 * @param headers the member `headers` of whatever was thrown
 */
export function foreignFields(headers: unknown, status: number): Record<string, string> | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined
  const fields = Object.entries(headers).flatMap(([name, value]: [string, unknown]) => {
    const isText = ['string', 'number'].includes(typeof value) || Array.isArray(value)
    return isText && isTaken(name.toLowerCase(), status) ? [[name, String(value)]] : []
  })
  return Object.fromEntries(fields)
}

function isTaken(name: string, status: number): boolean {
  // The connection is the server's own.
  return status < 500 ? name !== 'connection' && !ofBody.has(name) : name === 'retry-after'
}

const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

function isFieldValue(value: unknown): boolean {
  return (typeof value === 'string' || typeof value === 'number') && fieldValue.test(String(value))
}
