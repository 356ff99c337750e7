import { AsyncResource } from 'node:async_hooks'
import { hasReceivedAll } from '../../convention/internals.js'
import type { RawRequest } from '../../convention/raw-request.js'
import type { Schedule } from '../../time/schedule.js'

export interface BodyReader {
  /** Called with what was read, and whether that is all. Returns the bytes to put back. */
  take(bytes: Buffer, isWhole: boolean): Buffer
  /** Called with what was read of a body that did not arrive in time. Returns the bytes to put back. */
  expire(bytes: Buffer): Buffer
  /** Called after these. */
  proceed(): void
  /** Called instead if the client aborts the request. */
  abandon(): void
}

/** Reads a body up to `limit` bytes, and puts back what is to be parsed: later readers see a stream that was not read. */
export function readAhead(raw: RawRequest, limit: number, pending: PendingBodies, reader: BodyReader): void {
  const chunks: Buffer[] = []
  let length = 0
  // Events of a stream do not run in the asynchronous context of the request.
  const finish = AsyncResource.bind(() => proceedWith((bytes) => reader.take(bytes, length <= limit)))
  const body = pending.add(AsyncResource.bind(() => proceedWith(reader.expire)))
  const listeners = { readable: readMore, end: finish, aborted: lose, error: lose, close: lose }
  for (const [event, listener] of Object.entries(listeners)) raw.on(event, listener)

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
    // After the event `end`, nothing can be put back.
    if (length > limit || (hasReceivedAll(raw) && raw.readableLength === 0)) finish()
    else body.setBytes(length)
  }

  function proceedWith(change: (bytes: Buffer) => Buffer): void {
    stop()
    const back = change(Buffer.concat(chunks, length))
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
    for (const [event, listener] of Object.entries(listeners)) raw.off(event, listener)
  }
}

interface PendingBody {
  /** Sets the number of its bytes in memory; expires the oldest bodies if there are too many. */
  setBytes(bytes: number): void
  end(): void
}

interface PendingLimits {
  readonly bodies: number
  readonly bytes: number
  /** Milliseconds for each body. */
  readonly time: number
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
