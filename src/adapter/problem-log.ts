import type { FastifyReply } from 'fastify'
import type { ProblemCode, ProblemError } from '../errors.js'
import { longestDetail } from '../http/problem-of.js'

/**
 * Logs what was thrown, and puts the status of the problem on the reply, so that the line in the log has it: a fault of
 * the client as info, in the words that the client gets, one of the server as an error with its request. What the log was
 * told already is neither, and is logged without what was thrown.
 */
export function logProblem(reply: FastifyReply, thrown: unknown, problem: ProblemError): void {
  const { log } = reply
  reply.code(problem.statusCode)
  if (isToldAlready(problem)) log.info({ res: reply }, problem.message)
  else if (problem.statusCode < 500) log.info({ err: bounded(thrown, problem), res: reply }, problem.message)
  else log.error({ err: thrown, req: reply.request, res: reply }, problem.title)
}

/**
 * Is it what many requests end in while something is away or off, of which the log has told once? With a stack for each
 * of them, nothing else would be found there.
 */
export function isToldAlready({ code }: ProblemError): boolean {
  return toldAlready.has(code)
}

const toldAlready: ReadonlySet<string> = new Set<ProblemCode>([
  'maintenance',
  'operations-full',
  'operations-unavailable',
  'quota-unavailable',
])

// A message that names each fault of a body grows with it, and the log would have it twice, once in the stack.
function bounded(thrown: unknown, problem: ProblemError): unknown {
  const isLong =
    thrown !== problem &&
    thrown instanceof Error &&
    // An error of validation carries all faults that were found.
    (String(thrown.message).length > longestDetail || 'validation' in thrown)
  return isLong ? { code: problem.code, message: problem.message } : thrown
}
