import type { FastifyReply } from 'fastify'
import { clip } from '../text.js'
import { longestDetail } from './problem-document.js'
import type { ProblemCode, ProblemError } from './problem-error.js'

/**
 * Logs a problem, and sets the status, so that the log line has it. A problem of the client is logged without a stack, a
 * short error in `thrown` with its own. Texts that a client can make long are cut.
 */
export function logProblem(reply: FastifyReply, problem: ProblemError, thrown: unknown = problem): void {
  const { log } = reply
  const { name: type, code, statusCode } = problem
  const message = clip(problem.message, longestDetail)
  reply.code(statusCode)
  if (outageCodes.has(code)) log.info({ res: reply }, message)
  else if (statusCode >= 500) {
    log.error({ err: bounded(thrown), req: reply.request, res: reply }, clip(problem.title, longestDetail))
  } else {
    const isShort = thrown !== problem && bounded(thrown) === thrown
    const cause = thrown === problem ? bounded(problem.cause) : undefined
    const err = isShort ? thrown : { type, code, message, ...(cause !== undefined && { cause }) }
    log.info({ err, res: reply }, message)
  }
}

// The problems of many requests during an outage, whose cause the log has once.
const outageCodes: ReadonlySet<string> = new Set<ProblemCode>([
  'authentication-unavailable',
  'idempotency-unavailable',
  'maintenance',
  'operations-full',
  'operations-unavailable',
  'server-closing',
])

/** Maximum number of characters of an error in the log. */
const maxLogged = 8_000
const maxCauses = 3

/** Returns an error for the log: of one that is too long, the main members, cut. */
function bounded(thrown: unknown, depth = 0): unknown {
  if (typeof thrown === 'string') return clip(thrown, maxLogged)
  if (!(thrown instanceof Error)) return thrown
  if (!('validation' in thrown) && lengthOf(thrown) <= maxLogged) return thrown
  const { name: type, message, stack = '', code, cause } = thrown as Error & { readonly code?: unknown }
  return {
    type,
    ...(typeof code === 'string' && { code: clip(code, longestDetail) }),
    message: clip(message, longestDetail),
    stack: clip(stack, maxLogged),
    ...(cause !== undefined && depth < maxCauses && { cause: bounded(cause, depth + 1) }),
  }
}

/** Returns the number of characters of an error and its causes in the log; `Infinity` if they are no JSON, or circular. */
function lengthOf(error: Error, depth = 0): number {
  const { message, stack = '', cause } = error
  if (depth > maxCauses) return Number.POSITIVE_INFINITY
  try {
    const own = message.length + stack.length + JSON.stringify({ ...error, cause: undefined }).length
    return own + (cause instanceof Error ? lengthOf(cause, depth + 1) : JSON.stringify({ cause }).length)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
