import type {
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
import { addRouteHook } from '../convention/registry.js'
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

/** Goes when `integerTwins` is a value. */
export function addHook<P extends Phase>(route: RouteOptions, phase: P, step: string, hook: Hooks[P]): void {
  addRouteHook(route, phase, step, withPayload(phase, hook as never))
}

function withPayload(phase: Phase, hook: (...parameters: unknown[]) => void): Hook {
  if (phase === 'preSerialization' || phase === 'onSend' || phase === 'preParsing') return hook as Hook
  return function callHook(this: unknown, request, reply, payload, next) {
    hook.call(this, request, reply, (error?: Error) => (error ? next(error) : next(null, payload)))
  }
}
