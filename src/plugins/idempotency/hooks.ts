import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Effect, StepResult, Steps } from '../../convention/steps.js'
import { callerIdText, scopesOf } from '../../fastify/caller.js'
import { lengthOf, listenAlong, type RawRequest } from '../../fastify/raw-request.js'
import { discard, headerOf, isBytes, isResponse } from '../../fastify/reply.js'
import { selectionOf } from '../../fastify/selection.js'
import { requestSlot } from '../../fastify/slots.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { isPromise, type MaybeAsync, whenSettled, withValue } from '../../maybe-async.js'
import { isObject } from '../../options.js'
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
import type { KeyRules } from './options.js'
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
  readonly rules: KeyRules
  /** Whether something was sent with `reply.send()`. */
  isSending: boolean
  /** Whether the promise of the handler is pending. */
  isPending: boolean
  /** Whether the handler has timed out and goes on. */
  isTimedOut: boolean
}

type Decision = Work | Refusal

const field = 'idempotency-key'

/** The methods whose requests may have a key. */
export const methodsWithKeys: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Returns the steps of a route with unsafe methods. */
export function keySteps(rules: KeyRules, ledger: Ledger, reporter: Reporter): Steps {
  const { required, keepFor, maxBytes, identify } = rules
  const isReport = rules.mode === 'report'

  return {
    preParsing(request, _reply, payload) {
      if (request.headers[field] === undefined) return undefined
      const body = new ReadBody()
      bodyRead.set(request, body)
      listenAlong(payload as Readable, body)
      return undefined
    },
    preHandler(request, reply) {
      const fieldValue = request.headers[field]
      if ((fieldValue === undefined && !required) || !methodsWithKeys.has(request.method)) return undefined
      const decision = decide(fieldValue === undefined ? null : String(fieldValue), request)
      return withValue(decision, (decided) => effectOf(decided, request, reply))
    },
    onSend(request, reply, payload) {
      const work = workOf.get(request)
      if (work === undefined) return undefined
      if (work.kind === 'sent') return sentAgain(reply, work.answer, payload)
      if (work.kind === 'given') return withValue(finishGiven(reply, work, payload), () => undefined)
      return keepOnSend(reply, work, payload)
    },
  }

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
          found instanceof Attempt ? runOf(found, rules) : outcomeOf(found, fingerprint),
        ),
      (decision) => decision,
      (error) => ({ kind: 'refuse', rule: 'unavailable', problem: unavailableProblem(error) }),
    )
  }

  function effectOf(decision: Decision, request: FastifyRequest, reply: FastifyReply): Effect | undefined {
    if (decision.kind === 'run') {
      workOf.set(request, decision)
      watchReply(reply, decision)
      return undefined
    }
    if (decision.kind === 'refuse') {
      const { rule, problem } = decision
      // In `report` mode it is not kept that the answer of the first request is sent again.
      const isReplay = isReport && rule === 'answer-not-kept'
      return isReplay ? replayed : { rule, given: problem.message, refusal: problem }
    }
    if (isReport) return replayed
    workOf.set(request, decision)
    const { status, headers } = decision.answer
    // The bytes have been written for the same rights.
    const isWritten = decision.kind === 'sent'
    const payload = decision.kind === 'sent' ? (decision.answer.body ?? undefined) : decision.answer.payload
    return { ...replayed, answer: { status, headers, payload, isWritten } }
  }

  /** Gives a response exactly the status, headers and bytes of an answer. */
  function sentAgain(
    reply: FastifyReply,
    { status, headers, body }: SentAnswer,
    payload: unknown,
  ): Effect | undefined {
    // A hook after this one has failed.
    if (reply.statusCode !== status) return undefined
    discard(payload)
    return {
      ...replayed,
      change() {
        for (const name of Object.keys(reply.getHeaders())) {
          if (!(name in headers) && !isOfEachResponse(name)) reply.removeHeader(name)
        }
      },
      headers: { ...headers, 'idempotent-replayed': 'true' },
      payload: body,
    }
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

  function keepOnSend(reply: FastifyReply, run: Run, given: unknown): StepResult {
    const { attempt } = run
    if (!attempt.isOpen) return undefined
    const isKept = (): boolean => run.rules.keeps(reply.statusCode)
    const payload = isResponse(given) ? unwrapped(reply, given) : given
    if (isReport) {
      if (isKept()) attempt.complete(lost(reply, 'it was only counted'))
      else attempt.release()
      return withPayload(payload)
    }
    if (!isKept()) return withValue(giveUp(reply, run), () => withPayload(payload))
    if (isStream(payload)) return withPayload(keepStream(reply, run, payload))
    const body = bodyOf(payload)
    // Fastify refuses other payloads.
    if (body === undefined) return withPayload(payload)
    return withValue(keep(reply, run, body), () => withPayload(payload))
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

const replayed: Effect = { rule: 'replayed', given: 'would get the answer of an earlier request' }

function withPayload(payload: unknown): Effect {
  return { rule: 'answer', given: '', payload, isNeeded: true }
}

function runOf(attempt: Attempt, rules: KeyRules): Run {
  return { kind: 'run', attempt, rules, isSending: false, isPending: false, isTimedOut: false }
}

/** Watches the handler of a route for requests that run under a key. */
export function watchHandler(route: RouteOptions): void {
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

function settleTakenOver(reply: FastifyReply, { attempt, isPending, isSending, rules }: Run): void {
  const { raw } = reply
  if (!attempt.isOpen || isPending || !reply.sent || (isSending && !raw.writableEnded)) return
  if (!raw.writableEnded && !raw.destroyed) return
  if (rules.keeps(raw.statusCode))
    attempt.complete(lost(reply, 'the handler has written its response itself'))
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
