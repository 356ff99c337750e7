import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { listenAlong } from '../../fastify/body-bytes.js'
import { callerIdText, scopesOf } from '../../fastify/caller.js'
import { headerOf } from '../../fastify/header-of.js'
import { hookError } from '../../fastify/hook-error.js'
import { discard, isBytes, isResponse } from '../../fastify/payloads.js'
import { lengthOf, type RawRequest } from '../../fastify/raw-request.js'
import { passString } from '../../fastify/reply-serializer.js'
import { addHook } from '../../fastify/route.js'
import { selectionOf } from '../../fastify/selection.js'
import { requestSlot } from '../../fastify/slots.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { isPromise, type MaybeAsync, whenSettled, withValue } from '../../maybe-async.js'
import { isObject } from '../../options.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import {
  type Answer,
  collectAnswer,
  type GivenAnswer,
  isOfEachResponse,
  keptHeaders,
  type SentAnswer,
} from './answer.js'
import { fingerprintOf, ReadBody, type Rights, readKey, storageKey } from './fingerprint.js'
import { Attempt, type Ledger } from './ledger.js'
import type { RoutePlan } from './options.js'
import { keyProblem, outcomeOf, type Refusal, streamedBodyProblem, unavailableProblem } from './outcome.js'
import type { IdempotencyClaim } from './stores/store.js'

/** The body of a request, while it is read and after. */
export const bodyRead = requestSlot<ReadBody>('idempotency.body')
/** What a request with a key does. */
export const workOf = requestSlot<Work>('idempotency.work')

/** What a request with a key does: it runs, or gets an answer again. */
export type Work =
  | Run
  | { readonly kind: 'sent'; readonly answer: SentAnswer }
  | { readonly kind: 'given'; readonly answer: GivenAnswer; readonly claim: IdempotencyClaim }

/** A request that runs under its key. */
export interface Run {
  readonly kind: 'run'
  readonly attempt: Attempt
  readonly plan: RoutePlan
  /** Whether something was sent with `reply.send()`. */
  isSending: boolean
  /** Whether the promise of the handler is pending. */
  isPending: boolean
  /** Whether the handler has timed out and goes on. */
  isTimedOut: boolean
}

type Decision = Work | Refusal
type Next = (error?: Error) => void
type NextPayload = (error: Error | null, payload?: unknown) => void

const field = 'idempotency-key'

/** The methods whose requests may have a key. */
export const methodsWithKeys: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Adds the hooks of a plan to a route with unsafe methods, and watches its handler. */
export function addIdempotencyHooks(
  route: RouteOptions,
  plan: RoutePlan,
  ledger: Ledger,
  reporter: Reporter,
): void {
  const { required, keepFor, maxBytes, identify } = plan
  const isReport = plan.mode === 'report'

  addHook(route, 'preParsing', 'idempotency', function readBody(request, _reply, payload, next) {
    if (request.headers[field] !== undefined) {
      const body = new ReadBody()
      bodyRead.set(request, body)
      listenAlong(payload as Readable, body)
    }
    next(null, payload)
  })

  addHook(route, 'preHandler', 'idempotency', function claimKey(request, reply, next: Next) {
    const fieldValue = request.headers[field]
    if ((fieldValue === undefined && !required) || !methodsWithKeys.has(request.method)) {
      next()
      return
    }
    whenSettled(
      () => decide(fieldValue === undefined ? null : String(fieldValue), request),
      (decision) => apply(decision, request, reply, next),
      (error) => next(hookError(error)),
    )
  })

  addHook(
    route,
    'onSend',
    'idempotency',
    function keepAnswer(request, reply, payload: unknown, next: NextPayload) {
      const work = workOf.get(request)
      if (work === undefined) next(null, payload)
      else if (work.kind === 'sent') next(null, sentAgain(reply, work.answer, payload))
      else if (work.kind === 'given') sendAfter(finishGiven(reply, work, payload), payload, next)
      else keepOnSend(reply, work, payload, next)
    },
  )

  watchHandler(route)

  function decide(fieldValue: string | null, request: FastifyRequest): MaybeAsync<Decision> {
    const key = fieldValue === null ? null : readKey(fieldValue)
    if (key === null) {
      return { kind: 'refuse', rule: 'key-invalid', problem: keyProblem(fieldValue === null) }
    }
    const body = bodyRead.get(request)
    if (!body?.isComplete && hasContent(request)) {
      reporter.warnOnce(
        'idempotency',
        request,
        'the body is read as a stream, so its repetition is not known',
      )
      return { kind: 'refuse', rule: 'key-invalid', problem: streamedBodyProblem() }
    }
    return withValue(identify(request) as MaybeAsync<unknown>, (id) => {
      const caller = callerIdText(id, 'idempotency.identify')
      const credentials = caller === null ? credentialsOf(request) : null
      const fingerprint = fingerprintOf(body?.parts ?? [], {
        method: request.method,
        target: request.url,
        mediaType: mediaTypeOf(request.headers['content-type']),
        credentials,
        rights: rightsOf(request),
      })
      const parts = ['key', caller, key]
      return claim(storageKey(isReport ? ['report', ...parts] : parts), fingerprint)
    })
  }

  function claim(key: string, fingerprint: string): MaybeAsync<Decision> {
    return whenSettled<Decision, Decision>(
      () =>
        withValue(ledger.begin(key, fingerprint, keepFor), (found) =>
          found instanceof Attempt ? runOf(found, plan) : outcomeOf(found, fingerprint),
        ),
      (decision) => decision,
      (error) => ({ kind: 'refuse', rule: 'unavailable', problem: unavailableProblem(error) }),
    )
  }

  function apply(decision: Decision, request: FastifyRequest, reply: FastifyReply, next: Next): void {
    if (decision.kind === 'run') {
      workOf.set(request, decision)
      watchReply(reply, decision)
      next()
    } else if (isReport) {
      // In `report` mode it is not kept that the answer of the first request is sent again.
      if (decision.kind === 'refuse' && decision.rule !== 'answer-not-kept') {
        const { rule, problem } = decision
        reporter.observe('idempotency', rule, request, problem.message, problem.statusCode)
      } else {
        const given = 'would get the answer of an earlier request'
        reporter.observe('idempotency', 'replayed', request, given, 'changed')
      }
      next()
    } else if (decision.kind === 'refuse') refuse(request, reply, decision.problem, next)
    else {
      workOf.set(request, decision)
      const { status, headers } = decision.answer
      reply.code(status).headers(headers)
      // The bytes have been written for the same rights.
      if (decision.kind === 'sent') passString(reply).send(decision.answer.body ?? undefined)
      else reply.send(decision.answer.payload)
    }
  }

  /** Gives a response exactly the status, headers and bytes of an answer, and returns its payload. */
  function sentAgain(reply: FastifyReply, { status, headers, body }: SentAnswer, payload: unknown): unknown {
    // A hook after this one has failed.
    if (reply.statusCode !== status) return payload
    for (const name of Object.keys(reply.getHeaders())) {
      if (!(name in headers) && !isOfEachResponse(name)) reply.removeHeader(name)
    }
    reply.headers(headers).header('idempotent-replayed', 'true')
    discard(payload)
    return body
  }

  function finishGiven(
    reply: FastifyReply,
    { answer, claim }: Extract<Work, { kind: 'given' }>,
    payload: unknown,
  ): MaybeAsync<void> {
    if (reply.statusCode !== answer.status) return
    const body = bodyOf(payload)
    const kept = body === undefined || sizeOf(body) > maxBytes ? null : sent(reply, body)
    reply.header('idempotent-replayed', 'true')
    if (kept !== null) return ledger.finish(claim, kept, keepFor)
  }

  function keepOnSend(reply: FastifyReply, run: Run, given: unknown, next: NextPayload): void {
    const payload = isResponse(given) && run.attempt.isOpen ? unwrapped(reply, given) : given
    const { attempt } = run
    if (!attempt.isOpen) next(null, payload)
    else if (isReport) {
      next(null, payload)
      if (run.plan.keeps(reply.statusCode)) attempt.complete(lost(reply, 'it was only counted'))
      else attempt.release()
    } else if (!run.plan.keeps(reply.statusCode)) {
      sendAfter(giveUp(reply, run), payload, next)
    } else if (isStream(payload)) next(null, keepStream(reply, run, payload))
    else {
      const body = bodyOf(payload)
      // Fastify refuses other payloads.
      if (body === undefined) next(null, payload)
      else sendAfter(keep(reply, run, body), payload, next)
    }
  }

  function keep(reply: FastifyReply, { attempt }: Run, body: string | Buffer | null): MaybeAsync<void> {
    if (headerOf(reply, 'set-cookie') !== undefined) {
      reporter.warnOnce('idempotency', reply.request, 'Set-Cookie of a response is not kept')
    }
    const answer = sizeOf(body) <= maxBytes ? sent(reply, body) : tooLong(reply)
    return attempt.complete(answer)
  }

  function keepStream(reply: FastifyReply, { attempt }: Run, payload: Readable | ReadableStream): Readable {
    const source = 'getReader' in payload ? Readable.fromWeb(payload) : payload
    return collectAnswer(source, maxBytes, {
      collected: (bytes) => attempt.complete(bytes === null ? tooLong(reply) : sent(reply, bytes)),
      failed() {
        if (reply.raw.destroyed) attempt.complete(lost(reply, 'the connection was closed before its end'))
        else attempt.release()
      },
    })
  }

  function tooLong(reply: FastifyReply): Answer {
    reporter.warnOnce(
      'idempotency',
      reply.request,
      `an answer is longer than maxBytes, ${maxBytes}, and not kept`,
    )
    return lost(reply, `its answer is longer than ${maxBytes} bytes`)
  }

  function sent(reply: FastifyReply, body: string | Buffer | null): SentAnswer {
    const headers = keptHeaders(reply.getHeaders())
    return { kind: 'sent', status: reply.statusCode, headers, body }
  }
}

/** Passes a payload on when the store has done its work. */
function sendAfter(work: MaybeAsync<void>, payload: unknown, next: NextPayload): void {
  if (isPromise(work)) work.then(() => next(null, payload), next)
  else next(null, payload)
}

function runOf(attempt: Attempt, plan: RoutePlan): Run {
  return { kind: 'run', attempt, plan, isSending: false, isPending: false, isTimedOut: false }
}

/** Watches the handler of a route for requests that run under a key. */
function watchHandler(route: RouteOptions): void {
  const { handler } = route
  route.handler = function runUnderKey(request, reply) {
    const result: unknown = handler.call(this, request, reply)
    const work = workOf.get(request)
    if (work?.kind === 'run' && isPromise(result)) {
      work.isPending = true
      result.then(
        (value) => handlerEnded(reply, work, value),
        () => handlerEnded(reply, work, failed),
      )
    }
    return result
  }
}

const failed = Symbol('failed')

function handlerEnded(reply: FastifyReply, run: Run, value: unknown): void {
  run.isPending = false
  if (run.isTimedOut) {
    if (value === failed) run.attempt.release()
    else run.attempt.complete(lost(reply, 'it timed out, and its answer was not sent'))
    return
  }
  const { raw } = reply.request
  const hasLeft = raw.aborted || raw.socket === null || raw.socket.destroyed
  if (value === undefined && hasLeft && !run.isSending && !reply.sent) {
    // Fastify sends nothing to a client that has left, so that no hook would see the answer.
    reply.send()
  }
  // The handler has taken over the response, and has ended it.
  settleTakenOver(reply, run)
}

/** Notes when a response is sent, and when it has ended without the hooks: a handler may take it over (`reply.hijack()`). */
function watchReply(reply: FastifyReply, run: Run): void {
  const { send } = reply
  reply.send = function sendOnce(payload?: unknown) {
    run.isSending = true
    return send.call(this, payload)
  }
  // Comes after `finish`, too, and once.
  reply.raw.on('close', () => settleTakenOver(reply, run))
}

function settleTakenOver(reply: FastifyReply, { attempt, isPending, isSending, plan }: Run): void {
  const { raw } = reply
  if (!attempt.isOpen || isPending || !reply.sent || (isSending && !raw.writableEnded)) return
  if (!raw.writableEnded && !raw.destroyed) return
  if (plan.keeps(raw.statusCode)) attempt.complete(lost(reply, 'the handler has written its response itself'))
  else attempt.release()
}

/** Makes the key of a request free again whose response is not kept. One that has timed out may still run. */
function giveUp(reply: FastifyReply, run: Run): MaybeAsync<void> {
  if (!hasTimedOut(reply.request)) return run.attempt.release()
  if (!run.isPending) return run.attempt.complete(lost(reply, 'it timed out, and may still run'))
  run.isTimedOut = true
}

// `request.signal` makes what it returns, unless the route has a timeout.
function hasTimedOut({ routeOptions, signal }: Pick<FastifyRequest, 'routeOptions' | 'signal'>): boolean {
  const { handlerTimeout = 0 } = routeOptions as { readonly handlerTimeout?: number }
  const reason: unknown = handlerTimeout > 0 ? signal.reason : undefined
  return isObject(reason) && reason.code === 'FST_ERR_HANDLER_TIMEOUT'
}

/** Sets status and headers of a web `Response` on the reply, as Fastify does after all hooks, and returns its body. */
function unwrapped(reply: FastifyReply, { status, headers, body }: Response): unknown {
  reply.code(status)
  for (const [name, value] of headers) reply.header(name, value)
  return body
}

/** Returns text or bytes of a payload, `null` for none; `undefined` for anything else. */
function bodyOf(payload: unknown): string | Buffer | null | undefined {
  if (payload === undefined || payload === null || payload === '') return null
  if (typeof payload === 'string') return payload
  return isBytes(payload) ? Buffer.from(payload) : undefined
}

function sizeOf(body: string | Buffer | null): number {
  return body === null ? 0 : Buffer.byteLength(body)
}

function isStream(payload: unknown): payload is Readable | ReadableStream {
  if (typeof payload !== 'object' || payload === null) return false
  return ['pipe', 'getReader'].some((name) => typeof Reflect.get(payload, name) === 'function')
}

function lost(reply: FastifyReply, reason: string): Answer {
  return { kind: 'lost', status: reply.statusCode, location: headerOf(reply, 'location') ?? null, reason }
}

/** Whether a request has content. A parser of the app may leave it to the handler. */
function hasContent({ raw, headers }: FastifyRequest): boolean {
  return headers['content-type'] !== undefined || (lengthOf(raw as unknown as RawRequest) ?? 1) > 0
}

/** Returns the credentials of a caller whose id is not known, in fields of the app's own too; `null` for none. */
function credentialsOf({ headers }: FastifyRequest): string | null {
  const names = Object.keys(headers).filter((name) => credentials.test(name) && !otherwise.test(name))
  return names.length === 0 ? null : JSON.stringify(names.sort().map((name) => [name, headers[name]]))
}

// Which fields an app authenticates by is not known, so their names tell.
const credentials =
  /auth|cookie|credential|key|passw|secret|session|token|jwt|cert|user|account|tenant|principal|identity|client[-_]?id/
const otherwise = /^:|^sec-|^idempotency-key$|^user-agent$|[cx]srf/

function rightsOf(request: FastifyRequest): Rights {
  const selection = selectionOf(request)
  return { scopes: scopesOf(request), visible: selection?.hides === true ? selection.paths : null }
}
