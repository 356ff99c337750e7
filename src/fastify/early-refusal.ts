import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { appSlot } from './slots.js'

/** Returns the problem for which all requests are refused; `null` for none. */
export type EarlyRefusal = (request: FastifyRequest) => ProblemError | null

const earlyRefusal = appSlot<EarlyRefusal>('earlyRefusal')

/** Sets a refusal that takes precedence over all others, also for requests that no hook sees. */
export function refuseWithoutHooks(app: FastifyInstance, refusal: EarlyRefusal): void {
  earlyRefusal.set(app, refusal)
}

/** Returns the problem of the refusal that takes precedence; `null` for none. */
export function earlyRefusalOf(request: FastifyRequest): ProblemError | null {
  return earlyRefusal.get(request.server)?.(request) ?? null
}
