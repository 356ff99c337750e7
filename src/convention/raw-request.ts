import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'

/** What was decided about a POST before it was routed. */
export type OverrideMark =
  /** It is performed as another method. */
  | { readonly kind: 'performed'; readonly byForm: boolean }
  /** It is refused; not where the route takes a body of more bytes than `unlessAbove`. */
  | { readonly kind: 'refused'; readonly problem: ProblemError; readonly unlessAbove?: number | undefined }
  /** It would be performed as another method, but is only counted. */
  | { readonly kind: 'observed'; readonly given: string }
  /** It goes on as it came, though a part of its body was read. */
  | { readonly kind: 'passed' }

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const mark: unique symbol = Symbol.for('fastify-conventions.methodOverride')

/** What Node hands to the router, over HTTP/1.1 and HTTP/2, and `inject` too. */
export interface RawRequest extends Readable {
  method?: string
  readonly url?: string
  readonly headers: IncomingHttpHeaders
  readonly httpVersionMajor: number
  readonly aborted: boolean
  /** Of HTTP/2. */
  readonly stream?: { readonly endAfterHeaders: boolean }
  [mark]?: OverrideMark
}

/** Remembers on a request what was decided. */
export function markRequest(raw: RawRequest, decided: OverrideMark): void {
  raw[mark] = decided
}

/** What was decided about a request; `undefined` for most. */
export function markOf(request: FastifyRequest): OverrideMark | undefined {
  return (request.raw as { readonly [mark]?: OverrideMark })[mark]
}

/** Returns the length of the body by the header section; `null` if it is not known. */
export function lengthOf({ headers, httpVersionMajor, stream }: RawRequest): number | null {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  if (length !== undefined) return Number(length)
  if (stream?.endAfterHeaders === true) return 0
  return coding === undefined && httpVersionMajor < 2 ? 0 : null
}

/** Removes the header fields that announce content. */
export function forgetContent({ headers }: RawRequest): void {
  delete headers['content-type']
  delete headers['content-length']
  delete headers['transfer-encoding']
}

/** Discards the rest of a body after the response. Node.js does it only for bodies of which nothing was read. */
export function discardUnreadBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (!raw.readableDidRead || raw.readableEnded) return
  // The response of HTTP/2 finishes with its stream, which waits until all of the body is read.
  const { stream = reply.raw } = reply.raw as { readonly stream?: Writable }
  stream.once('finish', () => raw.resume())
}

/** What {@link listenAlong} calls. */
export interface BodyListener {
  /** Called with each part of the body: bytes, or text if the parser has set an encoding. */
  part(part: string | Uint8Array): void
  /** Called when all of the body has come. */
  end(): void
}

/** Listens to a body while a parser reads it. */
export function listenAlong(payload: Readable, listener: BodyListener): void {
  let isListening = false
  payload.on('newListener', function listenWithParser(event) {
    // Another listener of this kind makes the stream emit the event again, from within.
    if (event !== 'data' || isListening) return
    isListening = true
    payload.removeListener('newListener', listenWithParser)
    payload.on('data', (part: string | Uint8Array) => listener.part(part))
    payload.on('end', () => listener.end())
  })
}
