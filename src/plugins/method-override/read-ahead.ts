import { AsyncResource } from 'node:async_hooks'
import { hasReceivedAll } from '../../fastify/internals.js'
import type { RawRequest } from '../../fastify/raw-request.js'
import type { PendingBodies } from './pending-bodies.js'

/** What of a body was read. */
export interface ReadAhead {
  readonly bytes: Buffer
  /** Is that all of it? Otherwise there is more than the limit. */
  readonly isWhole: boolean
}

/** What becomes of a body that was read. */
export interface Reader {
  /**
   * Is given what was read, and returns what is put back in its place. Where that was all, and nothing is put back, the
   * request must not be read any more, for its end has passed.
   */
  take(read: ReadAhead): Buffer
  /**
   * Is given what was read of a body that is not waited for any longer, and returns what is put back in its place.
   */
  expire(bytes: Buffer): Buffer
  /** Goes on with the request. */
  proceed(): void
  /** The client has given up: nobody waits for an answer, and what came is not to be trusted. */
  abandon(): void
}

/**
 * Reads a body before its request is routed, and puts back what is to be parsed afterwards: to all that read the request
 * later, nothing has happened.
 *
 * @param limit in bytes; no more is kept than these and the chunk that passes them
 * @param pending bounds how many bodies are read at once, and for how long
 */
export function readAhead(raw: RawRequest, limit: number, pending: PendingBodies, reader: Reader): void {
  const chunks: Buffer[] = []
  let length = 0
  // A stream's events do not run in the asynchronous context in which the request came in.
  const finishInContext = AsyncResource.bind(finish)
  const body = pending.add(AsyncResource.bind(expire))

  raw.on('readable', readMore)
  raw.on('end', finishInContext)
  raw.on('aborted', lose)
  raw.on('error', lose)
  raw.on('close', lose)

  function readMore(): void {
    // HTTP/2 ends the body of a client that gives up as if it were whole.
    if (raw.aborted) {
      lose()
      return
    }
    while (length <= limit) {
      const chunk: unknown = raw.read()
      if (chunk === null) break
      const bytes = Buffer.from(chunk as Buffer)
      chunks.push(bytes)
      length += bytes.length
    }
    if (length > limit || isAtEnd(raw)) finishInContext()
    else body.hold(length)
  }

  function finish(): void {
    stop()
    proceedWith(reader.take({ bytes: Buffer.concat(chunks, length), isWhole: length <= limit }))
  }

  function expire(): void {
    stop()
    proceedWith(reader.expire(Buffer.concat(chunks, length)))
  }

  function proceedWith(back: Buffer): void {
    // At once: on the next turn the stream says that it has ended, unless there is something in it.
    if (back.length > 0) raw.unshift(back)
    reader.proceed()
  }

  function lose(): void {
    stop()
    reader.abandon()
  }

  function stop(): void {
    body.end()
    raw.off('readable', readMore)
    raw.off('end', finishInContext)
    raw.off('aborted', lose)
    raw.off('error', lose)
    raw.off('close', lose)
  }
}

/** Whether all of the body has been received and read. After the event `end`, nothing can be put back. */
function isAtEnd(raw: RawRequest): boolean {
  return hasReceivedAll(raw) && raw.readableLength === 0
}
