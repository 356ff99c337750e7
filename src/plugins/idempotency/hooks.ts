import { pipeline, Readable, Transform } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { AnyRequest } from '../../convention/any-request.js'
import { type CallerId, callerIdText, scopesOf } from '../../convention/caller.js'
import { discard, headerOf, isBytes, lengthOf, type RawRequest } from '../../convention/exchange.js'
import { selectionOf } from '../../convention/selection.js'
import { requestSlot } from '../../convention/slots.js'
import type { Effect, Steps } from '../../convention/steps.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { parseExact } from '../../json/exact-json.js'
import { isObject } from '../../options.js'
import { ProblemError, type ProblemErrorOptions } from '../../problem/problem-error.js'
import type { Mode } from '../../report/modes.js'
import type { Reporter } from '../../report/report.js'
import { isPromise, type MaybeAsync, whenSettled, withValue } from '../../time/async.js'
import { type Answer, isKept, isOfEachResponse, keptHeaders, readAnswer, uncoded } from './answer.js'
import type { Attempt, Ledger } from './ledger.js'
import * as requests from './request.js'
import type { IdempotencyRecord } from './stores/store.js'

const bodyRead = requestSlot<requests.ReadBody>('idempotency.body')
/** What a request with a key does: it runs, or gets an answer again. */
export const workOf = requestSlot<Run | Replay>('idempotency.work')

interface Replay {
  readonly answer: Answer
}

/** A request that runs under its key. */
export interface Run {
  readonly key: string
  readonly attempt: Attempt
  readonly ledger: Ledger
  readonly maxBytes: number
  /** Whether something was sent with `reply.send()`. */
  isSending: boolean
  /** The promise of the handler. */
  result: Promise<unknown> | undefined
}

export const methodsWithKeys: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

interface KeyRules {
  readonly mode: Mode
  readonly required: boolean
  readonly keepFor: number | string
  readonly maxBytes: number
  readonly identify: IdentifyCaller
}

type MaybeCaller = CallerId | null | undefined

export type IdentifyCaller = AnyRequest<[], MaybeCaller | PromiseLike<MaybeCaller>>

export function keySteps(rules: KeyRules, ledger: Ledger, reporter: Reporter): Steps {
  const { mode, required, keepFor, maxBytes, identify } = rules

  if (mode === 'report') {
    return {
      preHandler(request) {
        const key = keyOf(request)
        return typeof key === 'string' ? undefined : key
      },
    }
  }
  return {
    preParsing(request, _reply, payload) {
      if (request.headers['idempotency-key'] !== undefined) {
        bodyRead.set(request, requests.readAlong(payload as Readable))
      }
      return undefined
    },
    preHandler(request, reply) {
      const key = keyOf(request)
      return typeof key === 'string' ? begin(key, request, reply) : key
    },
    onSend(request, reply, payload) {
      const work = workOf.get(request)
      if (work === undefined) return undefined
      if ('answer' in work) return replayed(reply, work.answer, payload)
      return work.attempt.isOpen ? end(reply, work, payload) : undefined
    },
  }

  /** Returns the key of a request, nothing if it needs none, or a refusal. */
  function keyOf({ headers, method }: FastifyRequest): string | Effect | undefined {
    const fieldValue = headers['idempotency-key']
    if (!methodsWithKeys.has(method) || (fieldValue === undefined && !required)) return undefined
    const key = fieldValue === undefined ? null : requests.readKey(String(fieldValue))
    if (key !== null) return key
    const what = `${fieldValue === undefined ? 'is required here' : 'must be'}: one string of 1 to ${requests.maxKeyLength} visible ASCII characters`
    return refusal('key-invalid', `Idempotency-Key ${what}`)
  }

  function begin(key: string, request: FastifyRequest, reply: FastifyReply): MaybeAsync<Effect | undefined> {
    const body = bodyRead.get(request)
    if (!body?.isComplete && hasContent(request)) {
      const detail =
        'A repetition of this request cannot be recognised, because its body is a stream; send it without Idempotency-Key'
      return refusal('key-invalid', detail)
    }
    const id = identify(request) as MaybeAsync<MaybeCaller>
    // Query builders are not promises, but can be awaited.
    return withValue<MaybeCaller, Effect | undefined>(isPromise(id) ? Promise.resolve(id) : id, (known) => {
      const caller = callerIdText(known, 'idempotency.identify')
      const selection = selectionOf(request)
      const fingerprint = requests.fingerprintOf(body, [
        request.method,
        request.url,
        mediaTypeOf(request.headers['content-type']),
        // An answer is not shown to other credentials, nor to lesser rights.
        caller === null ? requests.credentialsOf(request.headers) : null,
        scopesOf(request)?.toSorted() ?? null,
        selection?.hides === true ? selection.paths : null,
      ])
      return whenSettled<Effect | undefined, Effect | undefined>(
        () => {
          const claim = { key: requests.sha256(JSON.stringify([caller, key])), caller, fingerprint }
          return withValue(ledger.begin(claim, Number(keepFor)), (found) => {
            if (!('claim' in found)) return outcomeOf(found, fingerprint, request)
            const run: Run = { key, attempt: found, ledger, maxBytes, isSending: false, result: undefined }
            workOf.set(request, run)
            watchReply(reply, run)
            return undefined
          })
        },
        (effect) => effect,
        (cause) => {
          const detail = 'Repeated requests cannot be recognised at the moment; try again'
          return refusal('unavailable', detail, { headers: retryAfter(5), cause })
        },
      )
    })
  }

  function end(reply: FastifyReply, run: Run, payload: unknown): MaybeAsync<Effect | undefined> {
    const { attempt } = run
    if (!isKept(reply.statusCode)) {
      if (!hasTimedOut(reply.request)) return ledger.release(attempt)
      // The handler goes on.
      Promise.resolve(run.result).then(
        () => ledger.complete(attempt, lost(reply, 'it timed out')),
        () => ledger.release(attempt),
      )
    } else if (isStream(payload)) {
      return { rule: 'answer', given: '', payload: collected(reply, run, payload) }
    } else if (payload === undefined || payload === null || isBytes(payload)) {
      return ledger.complete(attempt, answerOf(reply, payload ?? ''))
    }
    // Fastify takes status and headers of a `Response` after all hooks: its answer is not kept, see `settle`.
    return undefined
  }

  /** Returns a stream with the same bytes, which are kept while they pass. */
  function collected(reply: FastifyReply, { attempt }: Run, payload: Readable | ReadableStream): Readable {
    const parts: Buffer[] = []
    let length = 0
    const passing = new Transform({
      transform(part: Buffer, _encoding, next) {
        length += part.length
        if (length <= maxBytes) parts.push(part)
        next(null, part)
      },
      flush(next) {
        const answer = length > maxBytes ? tooLong(reply) : answerOf(reply, Buffer.concat(parts))
        withValue(ledger.complete(attempt, answer), () => next())
      },
    })
    pipeline('getReader' in payload ? Readable.fromWeb(payload) : payload, passing, (error) => {
      if (!error) return
      if (!reply.raw.destroyed) ledger.release(attempt)
      else ledger.complete(attempt, lost(reply, 'the connection was closed before its end'))
    })
    return passing
  }

  function answerOf(reply: FastifyReply, content: string | Uint8Array): Answer {
    if (Buffer.byteLength(content) > maxBytes) return tooLong(reply)
    const headers = keptHeaders(reply.getHeaders())
    const body = content.length === 0 ? null : content
    try {
      return uncoded({ status: reply.statusCode, headers, body }, maxBytes)
    } catch {
      return tooLong(reply)
    }
  }

  function tooLong(reply: FastifyReply): Answer {
    const text = `an answer is longer than maxBytes, ${maxBytes}, and not kept`
    reporter.warnOnce('idempotency', reply.request, text)
    return lost(reply, `its answer is longer than ${maxBytes} bytes`)
  }
}

function refusal(
  rule: 'in-progress' | 'key-reused' | 'answer-not-kept' | 'key-invalid' | 'unavailable',
  detail: string,
  more: ProblemErrorOptions = {},
): Effect {
  const problem = new ProblemError(`idempotency-${rule}`, { detail, ...more })
  return { rule, given: detail, refusal: problem }
}

const retryAfter = (seconds: number) => ({ 'retry-after': String(seconds) })

function outcomeOf(record: IdempotencyRecord, fingerprint: string, request: FastifyRequest): Effect {
  if (record.fingerprint !== fingerprint) {
    const detail = 'An earlier request with this Idempotency-Key was different'
    return refusal('key-reused', detail)
  }
  if (record.answer === null) {
    const detail = 'The first request with this Idempotency-Key is still running'
    return refusal('in-progress', detail, { headers: retryAfter(1) })
  }
  const answer = readAnswer(record.answer)
  const { status, headers, body, json, lost } = answer
  if (lost !== undefined) {
    const detail = `The first request with this Idempotency-Key was carried out with status ${status}, and is not run again: ${lost}`
    return refusal('answer-not-kept', detail, { extensions: { ...headers } })
  }
  workOf.set(request, { answer })
  const isWritten = body !== undefined
  const payload = isWritten ? (body ?? undefined) : json && parseExact(json)
  return { rule: 'replayed', given: '', answer: { status, headers, payload, isWritten } }
}

/** Gives a response exactly the status, headers and bytes of an answer, whatever the hooks of the app have made of it. */
function replayed(
  reply: FastifyReply,
  { status, headers, body }: Answer,
  payload: unknown,
): Effect | undefined {
  // A hook after this convention has failed.
  if (reply.statusCode !== status) return undefined
  const effect = { rule: 'replayed', given: '', headers: { 'idempotent-replayed': 'true' } }
  if (body === undefined) return effect
  discard(payload)
  const change = (): void => {
    for (const name of Object.keys(reply.getHeaders())) {
      if (!(name in headers) && !isOfEachResponse(name)) reply.removeHeader(name)
    }
  }
  return { ...effect, change, headers: { ...headers, ...effect.headers }, payload: body }
}

export function watchHandler(route: RouteOptions): void {
  const { handler } = route
  route.handler = function runUnderKey(request, reply) {
    const result: unknown = handler.call(this, request, reply)
    const work = workOf.get(request)
    if (work !== undefined && 'attempt' in work && isPromise(result)) work.result = result
    return result
  }
}

/** Notes when a response is sent, and when it has ended without the hooks: a handler may take it over (`reply.hijack()`). */
function watchReply(reply: FastifyReply, run: Run): void {
  const { send } = reply
  reply.send = function sendOnce(payload?: unknown) {
    run.isSending = true
    return send.call(this, payload)
  }
  // Comes after `finish`, too, and once.
  reply.raw.on('close', () => {
    if (run.attempt.isOpen) Promise.resolve(run.result ?? null).then(settle, () => settle(null))
  })

  function settle(value: unknown): void {
    const { ledger, attempt, isSending } = run
    if (!attempt.isOpen) return
    // Fastify sends nothing to a client that has left, so that no hook would see the answer.
    if (value === undefined && !isSending && !reply.sent) reply.send()
    else if (reply.sent && isKept(reply.raw.statusCode))
      ledger.complete(attempt, lost(reply, 'no hook saw its response'))
    else if (reply.sent) ledger.release(attempt)
  }
}

// `request.signal` makes what it returns, unless the route has a timeout.
function hasTimedOut({ routeOptions, signal }: Pick<FastifyRequest, 'routeOptions' | 'signal'>): boolean {
  const { handlerTimeout = 0 } = routeOptions as { readonly handlerTimeout?: number }
  const reason: unknown = handlerTimeout > 0 ? signal.reason : undefined
  return isObject(reason) && reason.code === 'FST_ERR_HANDLER_TIMEOUT'
}

function isStream(payload: unknown): payload is Readable | ReadableStream {
  if (typeof payload !== 'object' || payload === null) return false
  return ['pipe', 'getReader'].some((name) => typeof Reflect.get(payload, name) === 'function')
}

function lost(reply: FastifyReply, reason: string): Answer {
  const location = headerOf(reply, 'location')
  return { status: reply.statusCode, headers: location === undefined ? {} : { location }, lost: reason }
}

/** Whether a request has content. A parser of the app may leave it to the handler. */
function hasContent({ raw, headers }: FastifyRequest): boolean {
  if (headers['content-type'] !== undefined) return true
  // Over HTTP/2, a frame that is still to come may end it: Fastify reads no content without a type or a length.
  return (lengthOf(raw as unknown as RawRequest) ?? (raw.httpVersionMajor > 1 ? 0 : 1)) > 0
}
