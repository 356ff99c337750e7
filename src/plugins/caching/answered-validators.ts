import { isObject } from '../../options.js'
import type { FinishHook } from './after-handler.js'
import { readValidators } from './find-validators.js'
import { setValidators } from './headers.js'
import type { CachingPlan, ReadValidators } from './plan.js'

/**
 * The `preSerialization` hook that takes `ETag` and `Last-Modified` from what the handler returned with a 200 or 201,
 * before it is projected. What the handler, or `validators`, set already stays.
 */
export function validatorsOfAnswer(plan: CachingPlan, read: ReadValidators): FinishHook {
  return function validatorsOfAnswerOnPreSerialization(request, reply, payload, next) {
    const isAnswer = carriesResource(reply.statusCode) && isObject(payload)
    try {
      const found = isAnswer ? read(payload, request) : null
      if (found) setValidators(reply, readValidators(found, plan.now()))
    } catch (error) {
      next(error as Error)
      return
    }
    next(null, payload)
  }
}

/** Whether an answer of this status shows the resource as it is now (RFC 9110 §15.3.1, §15.3.2). */
export function carriesResource(status: number): boolean {
  return status === 200 || status === 201
}
