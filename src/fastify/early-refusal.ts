import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { appSlot } from './slots.js'

/** Returns why a request is refused whatever it asks for; `null` where it is not. */
export type EarlyRefusal = (request: FastifyRequest) => ProblemError | null

const earlyRefusal = appSlot<EarlyRefusal>('earlyRefusal')

/** Has the refusal asked before a request is refused for another reason, also where no hook sees the request. */
export function refuseWithoutHooks(app: FastifyInstance, refusal: EarlyRefusal): void {
  earlyRefusal.set(app, refusal)
}

/** Returns why a request is refused, whatever else is wrong with it; `null` where nothing refuses it. */
export function earlyRefusalOf(request: FastifyRequest): ProblemError | null {
  return earlyRefusal.get(request.server)?.(request) ?? null
}
