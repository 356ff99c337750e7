import type { FastifyInstance, FastifyRequest } from 'fastify'
import { pathOf } from '../http/request-target.js'
import { parameterHint } from '../plugins/path-guard/parameter-hint.js'
import { ProblemError } from './problem-error.js'

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const key = Symbol.for('fastify-conventions.pathHints')

/** Has problems say what is wrong with words in the place of parameters. */
export function declarePathHints(app: FastifyInstance, selfAliases: ReadonlySet<string>): void {
  app.decorate(key, selfAliases)
}

/** Adds to a problem what is wrong with words in the place of parameters, where its errors are about them. */
export function withPathHints(error: ProblemError, request: FastifyRequest): ProblemError {
  const { [key]: selfAliases } = request.server as { readonly [key]?: ReadonlySet<string> }
  if (error.code !== 'validation' || selfAliases === undefined) return error
  const hints: string[] = []
  const errors = error.errors?.map((issue) => {
    const pattern = request.routeOptions.url
    if (issue.in !== 'path' || pattern === undefined) return issue
    const hint = parameterHint(pathOf(request.raw.url ?? '/'), pattern, issue.name, selfAliases)
    if (hint === null) return issue
    hints.push(hint)
    return { ...issue, message: `${issue.message}; ${hint}` }
  })
  if (errors === undefined || hints.length === 0) return error
  const { code, statusCode: status, title, headers, extensions } = error
  return new ProblemError(code, {
    status,
    title,
    detail: [error.message, ...hints].join('; '),
    errors,
    ...(headers && { headers }),
    ...(extensions && { extensions }),
  })
}
