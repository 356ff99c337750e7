import type { FastifyReply } from 'fastify'
import type { ProblemError } from '../errors.js'
import { mediaTypeOf } from '../http/media-types.js'
import { problemMediaType } from '../http/problem.js'
import { problemOfBody } from '../http/problem-of.js'

/**
 * The problem behind an error answer that no error handler wrote; `null` where it is a problem document already, or
 * where it cannot be rewritten: a stream may be a file or somebody else's answer, and coded bytes are no text.
 */
export function problemOfAnswer(reply: FastifyReply, payload: unknown): ProblemError | null {
  const type = mediaTypeOf(String(reply.getHeader('content-type') ?? ''))
  const isText =
    payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)
  if (type === problemMediaType || !isText || reply.hasHeader('content-encoding')) return null
  return problemOfBody(reply.statusCode, type === 'text/plain' ? worded(payload) : parsed(payload))
}

/** Takes status and headers of a web `Response` over to the reply, if it is an error; its body is not read. */
export function takeErrorResponse(reply: FastifyReply, payload: unknown): boolean {
  if (!(payload instanceof Response) || payload.status < 400) return false
  reply.code(payload.status)
  for (const [name, value] of payload.headers) {
    if (!name.startsWith('content-')) reply.header(name, value)
  }
  payload.body?.cancel().catch(() => {})
  return true
}

const longestDetail = 1000

function worded(payload: unknown): unknown {
  const message = payload === null || payload === undefined ? '' : String(payload)
  return message.length > longestDetail ? undefined : { message }
}

function parsed(payload: unknown): unknown {
  try {
    return JSON.parse(String(payload))
  } catch {
    return undefined
  }
}
