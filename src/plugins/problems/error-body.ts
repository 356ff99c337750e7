import type { FastifyReply } from 'fastify'
import { isResponse } from '../../fastify/payloads.js'
import { isProblemField } from '../../http/error-headers.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { hasLongDigits } from '../../json/json-text.js'
import { parseWithBigInts } from '../../json/parse-with-big-ints.js'
import { longestDetail, problemMediaType } from '../../problem/problem-document.js'
import type { ProblemError } from '../../problem/problem-error.js'
import { problemOfBody } from '../../problem/problem-of.js'

/** The status that an answer will have: a web `Response` brings its own. */
export function statusOfAnswer(reply: FastifyReply, payload: unknown): number {
  return isResponse(payload) ? payload.status : reply.statusCode
}

/**
 * The problem behind an error answer that no error handler wrote; `null` where it is a problem document already, or
 * where it cannot be rewritten: a stream may be a file or somebody else's answer, and coded bytes are no text. The body
 * of a web `Response` is not read.
 */
export function problemOfAnswer(reply: FastifyReply, payload: unknown): ProblemError | null {
  if (isResponse(payload)) return problemOfResponse(payload)
  const type = mediaTypeOf(String(reply.getHeader('content-type') ?? ''))
  const isText =
    payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)
  if (type === problemMediaType || !isText || reply.hasHeader('content-encoding')) return null
  return problemOfBody(reply.statusCode, type === 'text/plain' ? worded(payload) : parsed(payload))
}

/** Whether an answer is an error in Fastify's own form (`statusCode`, `error`, `message`), of a status and a message. */
export function isErrorOfFramework(payload: unknown, status: number, message: string): boolean {
  if (typeof payload !== 'string' || payload.length > longestErrorOfFramework) return false
  const body = parsed(payload)
  if (typeof body !== 'object' || body === null) return false
  const { statusCode, message: said, error, code: _, ...others } = body as Record<string, unknown>
  return statusCode === status && said === message && typeof error === 'string' && isEmpty(others)
}

const longestErrorOfFramework = 65_536

function isEmpty(members: object): boolean {
  return Object.keys(members).length === 0
}

/** Puts a problem in place of a web `Response`: takes its headers over to the reply, and cancels its body. */
export function takeResponse(reply: FastifyReply, { headers, body }: Response): void {
  for (const [name, value] of headers) {
    const isOfBody = name.startsWith('content-') || name === 'connection' || !isProblemField(name, value)
    if (!isOfBody) reply.header(name, value)
  }
  body?.cancel().catch(() => {})
}

function problemOfResponse({ status, headers }: Response): ProblemError | null {
  const type = mediaTypeOf(headers.get('content-type') ?? '')
  return type === problemMediaType ? null : problemOfBody(status, undefined)
}

function worded(payload: unknown): unknown {
  const message = payload === null || payload === undefined ? '' : String(payload)
  return message.length > longestDetail ? undefined : { message }
}

function parsed(payload: unknown): unknown {
  const json = String(payload)
  try {
    return hasLongDigits(json) ? parseWithBigInts(json) : JSON.parse(json)
  } catch {
    return undefined
  }
}
