import { isProblemField } from '../../http/error-headers.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { parseExact } from '../../json/parse-exact.js'
import { longestDetail, problemMediaType } from '../../problem/problem-document.js'
import type { ProblemError } from '../../problem/problem-error.js'
import { problemOfBody } from '../../problem/problem-of.js'

/**
 * Returns the problem in an error body; `null` if the body is a problem document, or cannot be
 * rewritten: a stream may be a file, and encoded bytes are not text.
 *
 * @param contentType the value of `Content-Type`
 * @param isEncoded whether the response has a `Content-Encoding`
 * @param cause the problem of the error that an error handler of the app has answered
 * @param keepMembers names of members of an earlier error format, which keep what the app has sent
 */
export function problemInBody(
  status: number,
  contentType: string,
  isEncoded: boolean,
  payload: unknown,
  cause?: ProblemError,
  keepMembers?: readonly string[],
): ProblemError | null {
  const type = mediaTypeOf(contentType)
  if (type === problemMediaType || !isTextOrEmpty(payload) || isEncoded) return null
  const body = type === 'text/plain' ? messageOf(payload) : parsed(payload)
  return problemOfBody(status, body, cause, keepMembers)
}

/** Returns the problem in place of a web `Response`, whose body is not read; `null` if it has a problem document. */
export function problemInResponse({ status, headers }: Response, cause?: ProblemError): ProblemError | null {
  const type = mediaTypeOf(headers.get('content-type') ?? '')
  return type === problemMediaType ? null : problemOfBody(status, undefined, cause)
}

/** Whether an error body of a media type is wrapped: other types, such as HTML, are what the app has chosen. */
export function isWrapped(contentType: string): boolean {
  const type = mediaTypeOf(contentType)
  return type === '' || type === 'text/plain' || isJson(type)
}

/** Returns the header fields of a web `Response` that a problem in its place keeps. */
export function keptFields({ headers }: Response): (readonly [name: string, value: string])[] {
  return [...headers].filter(
    ([name, value]) => !name.startsWith('content-') && name !== 'connection' && isProblemField(name, value),
  )
}

/** Whether a payload is an error in Fastify's own form (`statusCode`, `error`, `message`) with a status, and a message. */
export function isErrorOfFramework(payload: unknown, status: number, message?: string): boolean {
  if (typeof payload !== 'string' || payload.length > maxFrameworkError) return false
  const body = parsed(payload)
  if (typeof body !== 'object' || body === null) return false
  const { statusCode, message: text, error, code: _, ...others } = body as Record<string, unknown>
  const hasForm = typeof error === 'string' && Object.keys(others).length === 0
  return hasForm && statusCode === status && text === (message ?? text)
}

const maxFrameworkError = 65_536

/** Whether an error handler of the app has answered a problem. */
export function isAnswered({ statusCode, message }: ProblemError, status: number, payload: unknown): boolean {
  if (!isTextOrEmpty(payload)) return true
  if (status === 500 && statusCode !== 500) return false
  return !isErrorOfFramework(payload, statusCode, message)
}

function isTextOrEmpty(payload: unknown): boolean {
  return payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)
}

function messageOf(payload: unknown): unknown {
  const message = payload === null || payload === undefined ? '' : String(payload)
  return message.length > longestDetail ? undefined : { message }
}

function parsed(payload: unknown): unknown {
  const json = String(payload)
  try {
    return parseExact(json)
  } catch {
    return undefined
  }
}
