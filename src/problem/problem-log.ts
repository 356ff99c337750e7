import type { FastifyReply } from 'fastify'
import { clip } from '../text.js'
import { longestDetail } from './problem-document.js'
import type { ProblemCode, ProblemError } from './problem-error.js'

/** Sets the status too, so that the log line has it. Texts that a client can make long are cut. */
export function logProblem(reply: FastifyReply, thrown: unknown, problem: ProblemError): void {
  const { log } = reply
  reply.code(problem.statusCode)
  const message = clip(problem.message, longestDetail)
  if (isOutage(problem)) log.info({ res: reply }, message)
  else if (problem.statusCode < 500)
    log.info({ err: asProblem(problem, bounded(thrown), thrown), res: reply }, message)
  else log.error({ err: bounded(thrown), req: reply.request, res: reply }, clip(problem.title, longestDetail))
}

/** Logs a refusal; an error of the client without a stack, which would only show this package. */
export function logRefusal(reply: FastifyReply, problem: ProblemError): void {
  const { name, code, message, statusCode } = problem
  const isClients = statusCode < 500
  logProblem(
    reply,
    isClients ? { type: name, code, message: clip(message, longestDetail) } : problem,
    problem,
  )
}

/** Whether the problem is that of many requests during an outage, whose cause the log has once. */
function isOutage({ code }: ProblemError): boolean {
  return outageCodes.has(code)
}

const outageCodes: ReadonlySet<string> = new Set<ProblemCode>([
  'authentication-unavailable',
  'idempotency-unavailable',
  'maintenance',
  'operations-full',
  'operations-unavailable',
  'server-closing',
])

// An error that is too long is logged with the text of the problem.
function asProblem({ name: type, code, message }: ProblemError, logged: unknown, thrown: unknown): unknown {
  return logged === thrown ? thrown : { type, code, message: clip(message, longestDetail) }
}

/** Maximum number of characters of a stack, which contains the message. */
const maxStackLength = 8_000

/** Returns an error for the log: with texts of bounded length, and without the errors of a validator. */
function bounded(thrown: unknown, depth = 0): unknown {
  if (typeof thrown === 'string') return clip(thrown, maxStackLength)
  if (!(thrown instanceof Error)) return thrown
  const { name: type, message, stack = '', code, cause } = thrown as Error & { readonly code?: unknown }
  const isLong =
    message.length > longestDetail ||
    stack.length > maxStackLength ||
    'validation' in thrown ||
    hasLongMembers(thrown)
  const boundedCause = cause === undefined || depth >= maxCauseDepth ? undefined : bounded(cause, depth + 1)
  if (!isLong && boundedCause === cause) return thrown
  return {
    type,
    ...(typeof code === 'string' && { code: clip(code, longestDetail) }),
    message: clip(message, longestDetail),
    stack: clip(stack, maxStackLength),
    ...(boundedCause !== undefined && { cause: boundedCause }),
  }
}

const maxCauseDepth = 3

/** Whether members that were added to an error are too long for the log, or no JSON: the log has all of them. */
function hasLongMembers(thrown: Error): boolean {
  const members = Object.entries(thrown).filter(([name]) => name !== 'cause')
  if (members.every(([, value]) => isShort(value))) return false
  try {
    return JSON.stringify(members).length > maxStackLength
  } catch {
    return true
  }
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' ? value.length < 200 : typeof value !== 'object' || value === null
}
