import type { FastifyInstance, FastifyRequest } from 'fastify'
import { appSlot } from '../fastify/slots.js'
import { pathOf } from '../http/request-target.js'
import { ProblemError } from './problem-error.js'

/** Returns a hint for the value of a path parameter; `null` for none. */
export type PathHint = (path: string, pattern: string, name: string) => string | null

const hints = appSlot<PathHint>('pathHints')

export function declarePathHints(app: FastifyInstance, hintOf: PathHint): void {
  hints.set(app, hintOf)
}

export function withPathHints(error: ProblemError, request: FastifyRequest): ProblemError {
  const hintOf = hints.get(request.server)
  if (error.code !== 'validation' || hintOf === undefined) return error
  const given: string[] = []
  const errors = error.errors?.map((issue) => {
    const pattern = request.routeOptions.url
    if (issue.in !== 'path' || pattern === undefined) return issue
    const hint = hintOf(pathOf(request.raw.url ?? '/'), pattern, issue.name)
    if (hint === null) return issue
    given.push(hint)
    return { ...issue, message: `${issue.message}; ${hint}` }
  })
  if (errors === undefined || given.length === 0) return error
  const { code, statusCode: status, title, headers, extensions } = error
  return new ProblemError(code, {
    status,
    title,
    detail: [error.message, ...given].join('; '),
    errors,
    ...(headers && { headers }),
    ...(extensions && { extensions }),
  })
}
