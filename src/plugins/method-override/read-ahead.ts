import { AsyncResource } from 'node:async_hooks'
import type { RawRequest } from '../../convention/exchange.js'
import { hasReceivedAll } from '../../convention/internals.js'
import type { Schedule } from '../../time/async.js'

/** How reading a body ended: it is whole, larger than the limit, or did not arrive in time. */
export type Outcome = 'whole' | 'large' | 'late'

export interface BodyReader {
  /** Called with what was read. Returns the bytes to put back. */
  take(bytes: Buffer, outcome: Outcome): Buffer
  proceed(): void
  /** Called instead if the client aborts the request. */
  abandon(): void
}

/** Reads a body up to `limit` bytes, and puts back what is to be parsed: later readers see a stream that was not read. */
export function readAhead(raw: RawRequest, limit: number, pending: PendingBodies, reader: BodyReader): void {
  const chunks: Buffer[] = []
  let length = 0
  // Events of a stream do not run in the asynchronous context of the request.
  const end = AsyncResource.bind((outcome: Outcome) => {
    stop()
    const back = reader.take(Buffer.concat(chunks, length), outcome)
    // At once: on the next turn the stream says that it has ended, unless there is something in it.
    if (back.length > 0) raw.unshift(back)
    reader.proceed()
  })
  const finish = () => end(length <= limit ? 'whole' : 'large')
  const body = pending(() => end('late'))
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

  function lose(): void {
    stop()
    reader.abandon()
  }

  function stop(): void {
    body.end()
    for (const [event, listener] of Object.entries(listeners)) raw.off(event, listener)
  }
}

export type PendingBodies = ReturnType<typeof pendingBodies>

/** Limits the bodies that are read before their requests are routed, since clients choose their number, size and speed. */
export function pendingBodies(
  { bodies, bytes, time }: Readonly<Record<'bodies' | 'bytes' | 'time', number>>,
  schedule: Schedule,
) {
  const pending = new Map<object, () => void>()
  let total = 0

  function expireOldest(): void {
    for (const expire of pending.values()) {
      if (pending.size <= bodies && total <= bytes) return
      expire()
    }
  }

  /** Begins to read a body. `expire` is called at most once, if it must not be read any more; it has to end the body. */
  return function add(expire: () => void) {
    let kept = 0
    const cancel = schedule(expire, time)
    const body = {
      /** Sets the number of its bytes in memory; expires the oldest bodies if there are too many. */
      setBytes(count: number): void {
        total += count - kept
        kept = count
        expireOldest()
      },
      end(): void {
        if (!pending.delete(body)) return
        total -= kept
        cancel()
      },
    }
    pending.set(body, expire)
    expireOldest()
    return body
  }
}
