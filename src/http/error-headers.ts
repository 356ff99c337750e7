import { isFieldName } from './header-fields.js'

export const contentFields: readonly string[] = [
  'content-type',
  'content-length',
  'transfer-encoding',
  'trailer',
  'content-encoding',
  'content-language',
  'content-disposition',
  'content-range',
  'content-digest',
  'repr-digest',
  'digest',
  'content-md5',
]

// The problem document has its own.
const ofBody: ReadonlySet<string> = new Set(contentFields.slice(0, 5))

/** The header fields of the response that a problem replaces: its representation is another one (RFC 9110 §8). */
export const replacedByProblem: readonly string[] = [
  ...contentFields.slice(4),
  'content-length',
  'content-location',
  'etag',
  'last-modified',
  'expires',
  'accept-ranges',
]

/** Whether a problem may have a header field: it is valid, and does not describe another body. */
export function isProblemField(name: string, value: unknown): boolean {
  return isField(name, value) && !ofBody.has(name.toLowerCase())
}

/** Whether Node.js sends a header field (RFC 9110 §5.1, §5.5): it throws for others. */
export function isField(name: string, value: unknown): boolean {
  return isFieldName(name) && [value].flat().every(isFieldValue)
}

/** Of a 5xx a problem takes `Retry-After` only, because others may reveal the inside of the server. */
export function foreignFields(headers: unknown, status: number): Record<string, string> | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined
  const fields = Object.entries(headers).flatMap(([name, value]: [string, unknown]) => {
    const isText = ['string', 'number'].includes(typeof value) || Array.isArray(value)
    return isText && isTaken(name.toLowerCase(), status) ? [[name, String(value)]] : []
  })
  return Object.fromEntries(fields)
}

function isTaken(name: string, status: number): boolean {
  // The server decides about the connection.
  return status < 500 ? name !== 'connection' && !ofBody.has(name) : name === 'retry-after'
}

const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

function isFieldValue(value: unknown): boolean {
  return (typeof value === 'string' || typeof value === 'number') && fieldValue.test(String(value))
}
