import { isUtf8 } from 'node:buffer'
import zlib from 'node:zlib'

/** The answer to a request, as a store keeps it. */
export interface Answer {
  readonly status: number
  /** By their names in lowercase. */
  readonly headers: Readonly<Record<string, string | string[]>>
  /** The content as it was sent, before a content coding; `null` for none. Absent if the answer was not sent yet, or is lost. */
  readonly body?: string | Uint8Array | null
  /** What the handler returns, as JSON: kept in its transaction, before it was written. */
  readonly json?: string | undefined
  /** Why the answer cannot be sent again, as a part of a sentence. */
  readonly lost?: string
}

const form = 1

export function writeAnswer({ status, headers, body, json, lost }: Answer): string {
  if (!(body instanceof Uint8Array)) return JSON.stringify({ form, status, headers, body, json, lost })
  const isText = isUtf8(body)
  const text = Buffer.from(body).toString(isText ? 'utf8' : 'base64')
  return JSON.stringify({ form, status, headers, body: text, encoding: isText ? undefined : 'base64' })
}

export function readAnswer(json: string): Answer {
  const { form: found, encoding, ...answer } = JSON.parse(json)
  if (found !== form) throw new Error('the answer has a form that this release does not know')
  return encoding === 'base64' ? { ...answer, body: Buffer.from(answer.body, 'base64') } : answer
}

/** Whether the answer with a status is kept: it does not say that nothing was carried out. */
export function isKept(status: number): boolean {
  return status >= 200 && status < 500 && !withoutEffect.has(status)
}

const withoutEffect: ReadonlySet<number> = new Set([
  400, 401, 403, 404, 405, 406, 407, 408, 411, 412, 413, 414, 415, 416, 417, 421, 425, 426, 428, 429, 431,
])

/** Whether a header field belongs to each response, and not to the answer: a repeated answer has that of its own response. */
export function isOfEachResponse(name: string): boolean {
  return (
    fieldsOfEachResponse.has(name) || /^(?:access-control-|cross-origin-|proxy-|(?:x-)?ratelimit)/.test(name)
  )
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

export function keptHeaders(headers: Readonly<Record<string, unknown>>): Answer['headers'] {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || isOfEachResponse(name)) continue
    kept[name] = Array.isArray(value) ? value.map(String) : String(value)
  }
  return kept
}

const decoders: Readonly<Record<string, typeof zlib.gunzipSync>> = {
  gzip: zlib.gunzipSync,
  deflate: zlib.inflateSync,
  br: zlib.brotliDecompressSync,
}

/**
 * Returns an answer before its content coding: the next client may not accept that.
 * @throws if the body is not coded as the header says, or longer than `maxBytes` without the coding
 */
export function uncoded(answer: Answer, maxBytes: number): Answer {
  if (answer.headers['content-encoding'] === undefined) return answer
  const { 'content-encoding': coding, etag, ...headers } = answer.headers
  const decode = decoders[String(coding).toLowerCase()]
  if (decode === undefined || !answer.body) return answer
  const body = decode(Buffer.from(answer.body), { maxOutputLength: Math.max(maxBytes, 1) })
  // `caching` has marked the tag with the coding.
  const tag = etag === undefined ? {} : { etag: String(etag).replace(`--${coding}"`, '"') }
  return { ...answer, headers: { ...headers, ...tag }, body }
}
