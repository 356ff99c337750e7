import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'

/** Returns why a request is refused whatever it asks for; `null` where it is not. */
export type EarlyRefusal = (request: FastifyRequest) => ProblemError | null

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const key = Symbol.for('fastify-conventions.earlyRefusal')

/** Has the refusal asked before a request is refused for another reason, also where no hook sees the request. */
export function refuseWithoutHooks(app: FastifyInstance, refusal: EarlyRefusal): void {
  app.decorate(key, refusal)
}

/** Returns why a request is refused, whatever else is wrong with it; `null` where nothing refuses it. */
export function earlyRefusalOf(request: FastifyRequest): ProblemError | null {
  const { [key]: refusal } = request.server as { readonly [key]?: EarlyRefusal }
  return refusal?.(request) ?? null
}
