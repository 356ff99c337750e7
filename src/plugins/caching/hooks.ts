import type { FastifyReply, FastifyRequest } from 'fastify'
import { tagInFormat } from '../../convention/selection.js'
import { requestSlot } from '../../convention/slots.js'
import type { Effect, PayloadStep, RequestStep, Steps } from '../../convention/steps.js'
import { isPromise, withValue } from '../../maybe-async.js'
import { isObject } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { FindValidators, ResourceVersion, RouteValidators } from './options.js'
import type { CachingPlan } from './plan.js'
import { evaluatePreconditions, howToGuard, isConditional, isRead, namesTags } from './preconditions.js'
import {
  answer304,
  completeLast,
  finishResponse,
  forbidStoring,
  type KnownValidators,
  knownValidators,
  refusalOf,
} from './response.js'
import { entityTagOf, latestTime, payloadDate, tagOfVersion } from './validators.js'

export const expectedVersion = requestSlot<ResourceVersion | null | undefined>('expectedVersion')

/** Returns the steps of a route. */
export function stepsOf(plan: CachingPlan): Steps {
  const { isReport, reads, validators, validatorsOf, lastModified } = plan
  const readsPayload = (validatorsOf !== undefined && !isReport) || (reads && lastModified !== false)
  return {
    preHandler: validators && checkPreconditions(plan, validators),
    preSerialization: readsPayload ? readPayload(plan) : undefined,
    onSend: finishResponse(plan),
    lastOnSend: isReport || !reads ? undefined : completeLast(plan),
    // A response may fail after `onSend`, in a later hook or in a stream, and is an error then.
    onError: isReport ? undefined : (_request, reply) => forbidStoring(reply),
  }
}

/** Evaluates preconditions by the validators of the route, before the handler runs. */
function checkPreconditions(plan: CachingPlan, find: FindValidators): RequestStep {
  return function checkBeforeHandler(request, reply) {
    const { method } = request
    const reads = isRead(method)
    if (!reads && !isConditional(request))
      return plan.isPreconditionRequired && method !== 'OPTIONS' ? missingPrecondition() : undefined
    if (plan.isReport) return reads ? undefined : unknownPrecondition
    const found = find(request)
    // Query builders are not promises, but can be awaited.
    return withValue(isPromise(found) ? Promise.resolve(found) : found, (validators) =>
      check(plan, request, reply, validators),
    )
  }
}

function check(
  plan: CachingPlan,
  request: FastifyRequest,
  reply: FastifyReply,
  found: RouteValidators | null,
) {
  const { method, headers } = request
  const now = plan.now()
  const validators = found ? readValidators(found, request, now) : null
  if (isRead(method)) {
    if (validators === null) return undefined
    knownValidators.set(reply, validators)
    // The tag of the bytes is known after the handler only.
    if (!isConditional(request) || (validators.etag === undefined && namesTags(headers))) return undefined
  } else {
    // Set for a 404 too: another request may create the resource before the handler runs.
    expectedVersion.set(request, found ? found.version : null)
    // RFC 9110 §13.2.1: without the precondition these would be a 404; only PUT creates a resource.
    if (!found && (method === 'PATCH' || method === 'DELETE')) return undefined
  }
  const verdict = evaluatePreconditions(request, validators, now)
  if (verdict === 'proceed') return undefined
  return verdict === 'not-modified' ? answer304 : refusalOf(request)
}

function missingPrecondition(): Effect {
  const refusal = new ProblemError('precondition-required', { detail: howToGuard })
  return { rule: 'precondition', given: 'has no precondition', refusal }
}

const unknownPrecondition: Effect = {
  rule: 'precondition',
  given: 'would be refused if its precondition fails',
  refusal: new ProblemError('precondition-failed'),
}

/** Returns validators as they are compared and sent: the tag in quotes, the time to the second and not later than now. */
function readValidators(found: RouteValidators, request: FastifyRequest, now: number): KnownValidators {
  if ('then' in found) throw new TypeError('config.caching.validatorsOf must be synchronous')
  const { etag, lastModified, version } = found
  const ofVersion = version === undefined ? undefined : tagOfVersion(String(version))
  const tag = etag === undefined ? ofVersion : entityTagOf(etag)
  const date = lastModified === undefined ? null : latestTime([new Date(lastModified)], now)
  return {
    // The tag in the response to a write names the stored resource, in any format of that response.
    etag: tag !== undefined && isRead(request.method) ? tagInFormat(request, tag) : tag,
    lastModified: date ?? undefined,
    isOfItems: false,
  }
}

/** Reads the validators in what the handler returned, before anything else changes it. */
function readPayload(plan: CachingPlan): PayloadStep {
  const { isReport, lastModified: member, validatorsOf } = plan
  return function readPayloadValidators(request, reply, payload) {
    const { statusCode } = reply
    if (statusCode !== 200 && statusCode !== 201) return undefined
    let known = knownValidators.get(reply)
    const own = validatorsOf && !isReport && isObject(payload) ? validatorsOf(payload, request) : null
    if (own) {
      const read = readValidators(own, request, plan.now())
      const { etag = read.etag, lastModified = read.lastModified } = known ?? {}
      known = { etag, lastModified, isOfItems: false }
    }
    const isDated = known?.lastModified !== undefined || member === false
    if (!isDated && statusCode === 200 && isRead(request.method)) {
      const date = payloadDate(payload, member, plan.now())
      if (date !== null) known = known === undefined ? date : { etag: known.etag, ...date }
    }
    if (known !== undefined) knownValidators.set(reply, known)
    return undefined
  }
}
