import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Sets headers on an answer, then calls `next`; or answers itself, and does not. */
export type SetHeaders = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const key = Symbol.for('fastify-conventions.frameworkErrorHeaders')

/**
 * Has `serverOptions()` set the headers too, on answers to requests that no hook sees: malformed URLs and over-long
 * parameters. Those are errors of the root, so a plugin has to be registered there.
 */
export function addFrameworkErrorHeaders(app: FastifyInstance, setHeaders: SetHeaders): void {
  // A context below the root that inherits the list has no such errors.
  if (Object.hasOwn(app, key)) (app as WithSetters)[key]?.push(setHeaders)
  else if (!(key in app)) app.decorate(key, [setHeaders])
}

/** Sets what {@link addFrameworkErrorHeaders} took, then goes on; whatever fails with them, there is an answer. */
export function setFrameworkErrorHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => void,
): void {
  const setters = (request.server as WithSetters)[key] ?? []
  let index = 0
  const next = (error?: Error): void => {
    if (error !== undefined && error !== null) request.log.error({ err: error }, 'headers of an error failed')
    const setHeaders = setters[index++]
    if (setHeaders === undefined) answer()
    else setHeaders(request, reply, next)
  }
  next()
}

type WithSetters = FastifyInstance & { readonly [key]?: SetHeaders[] }
