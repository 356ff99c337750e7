import { isUtf8 } from 'node:buffer'
import { pipeline, type Readable, Transform } from 'node:stream'
import { exactJson } from '../../json/exact-json.js'
import { parseExact } from '../../json/parse-exact.js'
import { type MaybeAsync, whenSettled } from '../../maybe-async.js'
import { isObject } from '../../options.js'

/** The answer to a request, as a store keeps it. */
export type Answer = SentAnswer | GivenAnswer | LostAnswer

/** An answer as it was sent. */
export interface SentAnswer {
  readonly kind: 'sent'
  readonly status: number
  readonly headers: AnswerHeaders
  /** The bytes, or the text of them; `null` for none. */
  readonly body: string | Buffer | null
}

/** An answer that a handler has kept in its transaction, before it was written. */
export interface GivenAnswer {
  readonly kind: 'given'
  readonly status: number
  readonly headers: AnswerHeaders
  /** What the handler returns; `undefined` for nothing. */
  readonly payload: unknown
}

/** An answer that cannot be sent again, of a request that was carried out. */
export interface LostAnswer {
  readonly kind: 'lost'
  readonly status: number
  /** `Location` of the answer; `null` for none. */
  readonly location: string | null
  /** Why, as a part of a sentence. */
  readonly reason: string
}

/** Header fields by their names in lowercase. */
export type AnswerHeaders = Readonly<Record<string, string | string[]>>

export function writeAnswer(answer: Answer): string {
  if (answer.kind === 'sent') {
    const { kind, status, headers, body } = answer
    if (typeof body !== 'string' && body !== null && !isUtf8(body)) {
      return JSON.stringify({ form, ...answer, body: body.toString('base64'), encoding: 'base64' })
    }
    return JSON.stringify({ form, kind, status, headers, body: body === null ? null : String(body) })
  }
  if (answer.kind === 'lost') return JSON.stringify({ form, ...answer })
  const { payload, ...rest } = answer
  if (payload === undefined) return JSON.stringify({ form, ...rest })
  const json = isBinary(payload) ? undefined : exactJson(payload, false)
  if (json === undefined) throw new TypeError('expected a JSON value as the body of an answer')
  return JSON.stringify({ form, ...rest, payload: json })
}

/** Reads what {@link writeAnswer} has written. */
export function readAnswer(json: string): Answer {
  const { form: found, encoding, body, payload, ...answer } = JSON.parse(json) as Record<string, unknown>
  const isKnown = found === form && typeof answer.status === 'number'
  if (isKnown && answer.kind === 'sent') {
    const bytes = encoding === 'base64' ? Buffer.from(String(body), 'base64') : body
    return { ...answer, body: bytes } as SentAnswer
  }
  if (isKnown && answer.kind === 'given') {
    return {
      ...answer,
      payload: typeof payload === 'string' ? parseExact(payload) : undefined,
    } as GivenAnswer
  }
  if (isKnown && answer.kind === 'lost') return answer as unknown as LostAnswer
  throw new Error('the answer has a form that this release does not know')
}

const form = 1

/** Whether the answer with a status is kept. */
export function isKeptStatus(status: number): boolean {
  return status >= 200 && status < 500 && !withoutEffect.has(status)
}

const withoutEffect: ReadonlySet<number> = new Set([
  400, 401, 403, 404, 405, 406, 407, 408, 411, 412, 413, 414, 415, 416, 417, 421, 425, 426, 428, 429, 431,
])

/**
 * Whether a header field belongs to each response, and not to the answer: it is not kept, and a repeated answer has that of its
 * own response.
 */
export function isOfEachResponse(name: string): boolean {
  const pattern = /^(?:access-control-|cross-origin-|proxy-|(?:x-)?ratelimit)/
  return fieldsOfEachResponse.has(name) || pattern.test(name)
}

const fieldsOfEachResponse: ReadonlySet<string> = new Set([
  // The message and its connection (RFC 9110 §7.6.1), and who handled it.
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'content-length'],
  ...['date', 'age', 'via', 'server', 'alt-svc', 'x-powered-by', 'server-timing', 'idempotent-replayed'],
  ...['request-id', 'x-request-id', 'x-correlation-id', 'traceparent', 'tracestate'],
  // A session may have ended since, and its secret is not stored.
  'set-cookie',
  // Security headers.
  ...['strict-transport-security', 'content-security-policy', 'content-security-policy-report-only'],
  ...['x-content-type-options', 'x-frame-options', 'x-dns-prefetch-control', 'x-download-options'],
  ...['x-permitted-cross-domain-policies', 'x-xss-protection', 'referrer-policy', 'permissions-policy'],
  ...['origin-agent-cluster', 'reporting-endpoints', 'report-to', 'nel'],
  // Of a version, at the time of the response.
  ...['deprecation', 'sunset'],
])

export function keptHeaders(
  headers: Readonly<Record<string, unknown>>,
  isLeftOut: (name: string) => boolean = isOfEachResponse,
): AnswerHeaders {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || isLeftOut(name)) continue
    kept[name] = Array.isArray(value) ? value.map(String) : String(value)
  }
  return kept
}

function isBinary(payload: unknown): boolean {
  return payload instanceof Uint8Array || (isObject(payload) && typeof payload.pipe === 'function')
}

/** What {@link collectAnswer} calls: one of the two, once. */
export interface Collector {
  /** Called when all of the stream has passed, before its end does. */
  collected(bytes: Buffer | null): MaybeAsync<void>
  /** Called if the stream fails, or if it is not read to its end. */
  failed(error: Error): void
}

/** Returns a stream with the same bytes, which are collected while they pass: at most so many. */
export function collectAnswer(source: Readable, maxBytes: number, collector: Collector): Readable {
  const parts: Buffer[] = []
  let length = 0
  const passing = new Transform({
    transform(part: Buffer, _encoding, next) {
      length += part.length
      if (length <= maxBytes) parts.push(part)
      else parts.length = 0
      next(null, part)
    },
    flush(next) {
      whenSettled(
        () => collector.collected(length <= maxBytes ? Buffer.concat(parts) : null),
        () => next(),
        next as (error: unknown) => void,
      )
    },
  })
  pipeline(source, passing, (error) => {
    if (error) collector.failed(error)
  })
  return passing
}
