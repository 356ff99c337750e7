import type { FastifyReply } from 'fastify'
import { clip } from '../text.js'
import { longestDetail } from './problem-document.js'
import type { ProblemCode, ProblemError } from './problem-error.js'

/**
 * Logs what was thrown, and puts the status of the problem on the reply, so that the line in the log has it: a fault of
 * the client as info, in the words that the client gets, a fault of the server as an error with its request. What the
 * log was told already is logged without what was thrown. What a client can make long is cut.
 */
export function logProblem(reply: FastifyReply, thrown: unknown, problem: ProblemError): void {
  const { log } = reply
  reply.code(problem.statusCode)
  const message = clip(problem.message, longestDetail)
  if (isToldAlready(problem)) log.info({ res: reply }, message)
  else if (problem.statusCode < 500)
    log.info({ err: inWordsOf(problem, bounded(thrown), thrown), res: reply }, message)
  else log.error({ err: bounded(thrown), req: reply.request, res: reply }, clip(problem.title, longestDetail))
}

/** Logs a refusal: without a stack where the client is at fault, for it would only show where this package refuses. */
export function logRefusal(reply: FastifyReply, problem: ProblemError): void {
  const { name, code, message, statusCode } = problem
  const isClients = statusCode < 500
  logProblem(
    reply,
    isClients ? { type: name, code, message: clip(message, longestDetail) } : problem,
    problem,
  )
}

/**
 * Whether many requests end in the problem while something is away or off, of which the log has told once. With a stack
 * for each of them, nothing else would be found in the log.
 */
function isToldAlready({ code }: ProblemError): boolean {
  return toldAlready.has(code)
}

const toldAlready: ReadonlySet<string> = new Set<ProblemCode>([
  'maintenance',
  'operations-full',
  'operations-unavailable',
  'quota-unavailable',
  'server-closing',
])

// What is not logged as it was thrown is logged as the client gets it: its stack would repeat the message.
function inWordsOf({ name: type, code, message }: ProblemError, logged: unknown, thrown: unknown): unknown {
  return logged === thrown ? thrown : { type, code, message: clip(message, longestDetail) }
}

/** Characters of a stack; an error's message stands in it once more. */
const longestStack = 8_000

/** Returns what was thrown as it is logged: without texts of any length, and without the faults a validator found. */
function bounded(thrown: unknown, depth = 0): unknown {
  if (typeof thrown === 'string') return clip(thrown, longestStack)
  if (!(thrown instanceof Error)) return thrown
  const { name: type, message, stack = '', code, cause } = thrown as Error & { readonly code?: unknown }
  const isLong =
    message.length > longestDetail ||
    stack.length > longestStack ||
    'validation' in thrown ||
    hasLongMembers(thrown)
  const boundedCause = cause === undefined || depth >= deepestCause ? undefined : bounded(cause, depth + 1)
  if (!isLong && boundedCause === cause) return thrown
  return {
    type,
    ...(typeof code === 'string' && { code: clip(code, longestDetail) }),
    message: clip(message, longestDetail),
    stack: clip(stack, longestStack),
    ...(boundedCause !== undefined && { cause: boundedCause }),
  }
}

const deepestCause = 3

/** Whether the members that were added to an error are long, or cannot be written: the log writes all of them. */
function hasLongMembers(thrown: Error): boolean {
  const members = Object.entries(thrown).filter(([name]) => name !== 'cause')
  if (members.every(([, value]) => isShort(value))) return false
  try {
    return JSON.stringify(members).length > longestStack
  } catch {
    return true
  }
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' ? value.length < 200 : typeof value !== 'object' || value === null
}
