import { AsyncResource } from 'node:async_hooks'
import { hasReceivedAll } from '../../convention/internals.js'
import type { RawRequest } from '../../convention/raw-request.js'
import type { Schedule } from '../../time/schedule.js'

/** The bytes that were read of a body. */
export interface ReadAhead {
  readonly bytes: Buffer
  /** Whether the body is complete; otherwise it is larger than the limit. */
  readonly isWhole: boolean
}

export interface BodyReader {
  take(read: ReadAhead): Buffer
  /** Called with what was read of a body that did not arrive in time. Returns the bytes to put back. */
  expire(bytes: Buffer): Buffer
  proceed(): void
  abandon(): void
}

/** Reads a body up to `limit` bytes, and puts back what is to be parsed: later readers see a stream that was not read. */
export function readAhead(raw: RawRequest, limit: number, pending: PendingBodies, reader: BodyReader): void {
  const chunks: Buffer[] = []
  let length = 0
  // Events of a stream do not run in the asynchronous context of the request.
  const finishInContext = AsyncResource.bind(finish)
  const body = pending.add(AsyncResource.bind(expire))

  raw.on('readable', readMore)
  raw.on('end', finishInContext)
  raw.on('aborted', lose)
  raw.on('error', lose)
  raw.on('close', lose)

  function readMore(): void {
    // HTTP/2 ends the body of an aborted request as if it were complete.
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
    else body.setBytes(length)
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

export interface PendingLimits {
  readonly bodies: number
  readonly bytes: number
  /** Milliseconds for each body. */
  readonly time: number
}

export interface PendingBody {
  /** Sets the number of its bytes in memory; expires the oldest bodies if there are too many. */
  setBytes(bytes: number): void
  end(): void
}

/** Limits the bodies that are read before their requests are routed, since clients choose their number, size and speed. */
export class PendingBodies {
  readonly #limits: PendingLimits
  readonly #schedule: Schedule
  readonly #pending = new Map<PendingBody, () => void>()
  #bytes = 0

  constructor(limits: PendingLimits, schedule: Schedule) {
    this.#limits = limits
    this.#schedule = schedule
  }

  /** @param expire called at most once, if the body must not be read any more; it has to end the body */
  add(expire: () => void): PendingBody {
    let kept = 0
    const cancel = this.#schedule(expire, this.#limits.time)
    const body: PendingBody = {
      setBytes: (bytes) => {
        this.#bytes += bytes - kept
        kept = bytes
        this.#expireOldest()
      },
      end: () => {
        if (!this.#pending.delete(body)) return
        this.#bytes -= kept
        cancel()
      },
    }
    this.#pending.set(body, expire)
    this.#expireOldest()
    return body
  }

  #expireOldest(): void {
    const { bodies, bytes } = this.#limits
    for (const expire of this.#pending.values()) {
      if (this.#pending.size <= bodies && this.#bytes <= bytes) return
      expire()
    }
  }
}
