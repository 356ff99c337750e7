import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ProblemError } from '../errors.js'

/** Why a request is refused whatever it asks for; `null` where it is not. */
export type EarlyRefusal = (request: FastifyRequest) => ProblemError | null

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const key = Symbol.for('fastify-conventions.earlyRefusal')

/** Has `serverOptions()` ask too, for requests that no hook sees. */
export function refuseWithoutHooks(app: FastifyInstance, refusal: EarlyRefusal): void {
  app.decorate(key, refusal)
}

/** Why a request that no hook sees is refused, whatever is wrong with it; `null` where nobody refuses it. */
export function earlyRefusalOf(request: FastifyRequest): ProblemError | null {
  const { [key]: refusal } = request.server as { readonly [key]?: EarlyRefusal }
  return refusal?.(request) ?? null
}
