import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onErrorHookHandler,
  onRequestHookHandler,
  onSendHookHandler,
  preHandlerHookHandler,
  preParsingHookHandler,
  preSerializationHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify'
import type { Phase } from '../convention/order.js'
import { addContextHook, addRouteHook } from '../convention/registry.js'
import type { Hook } from '../convention/steps.js'

interface Hooks {
  readonly onRequest: onRequestHookHandler
  readonly preParsing: preParsingHookHandler
  readonly preValidation: preValidationHookHandler
  readonly preHandler: preHandlerHookHandler
  readonly preSerialization: preSerializationHookHandler<never>
  readonly onSend: onSendHookHandler<never>
  readonly onError: onErrorHookHandler
}

const names: Readonly<Record<string, string>> = {
  'problems:admission': 'problems',
  'problems:expectation': 'problems:last',
  'problems:accept': 'problems:last',
  'problems:empty-body': 'problems',
  'problems:content-coding': 'problems:last',
}

/** Goes when `problems` and `integerTwins` are values. */
export function addHook<P extends Phase>(route: RouteOptions, phase: P, step: string, hook: Hooks[P]): void {
  addRouteHook(route, phase, names[step] ?? step, withPayload(phase, hook as never))
}

interface AppHooks {
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void
  readonly onSend: (
    this: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    payload: never,
    next: DoneFuncWithErrOrRes,
  ) => unknown
}

export function addAppHook<P extends 'onRequest' | 'onSend'>(
  app: FastifyInstance,
  phase: P,
  step: string,
  hook: AppHooks[P],
): void {
  addContextHook(app, phase, names[step] ?? step, withPayload(phase, hook as never))
}

function withPayload(phase: Phase, hook: (...parameters: unknown[]) => void): Hook {
  if (phase === 'preSerialization' || phase === 'onSend' || phase === 'preParsing') return hook as Hook
  return function callHook(this: unknown, request, reply, payload, next) {
    hook.call(this, request, reply, (error?: Error) => (error ? next(error) : next(null, payload)))
  }
}
