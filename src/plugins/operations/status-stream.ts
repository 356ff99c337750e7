import { Readable } from 'node:stream'
import type { Schedule } from '../../time/schedule.js'

/** A status document in a stream of server-sent events. */
export interface StatusEvent {
  /** Version of the record. */
  readonly id: number
  /** The document as JSON, in one line. */
  readonly data: string
  /** Whether the document is final. */
  readonly isLast: boolean
}

export interface StatusStreamOptions {
  readonly first: StatusEvent
  /** Returns the current event; `null` if the operation is deleted. */
  readonly read: () => Promise<StatusEvent | null>
  /** Calls a function when the document may have changed, and when the app closes. Returns a function that ends that. */
  readonly watch: (wake: () => void) => () => void
  readonly isClosing: () => boolean
  /** Milliseconds after which a client reconnects. */
  readonly retry: number
  /** Milliseconds between two reads, because a notification may get lost; `null` for none. */
  readonly readInterval: number | null
  readonly schedule: Schedule
  /** Called once, when the stream has ended. */
  readonly onEnd: () => void
}

/** Media type of server-sent events. */
export const eventStream = 'text/event-stream'

/** Milliseconds between two comments, which keep proxies from closing the connection. */
const keepAlive = 15_000

/**
 * Returns the status of an operation as server-sent events (HTML Living Standard §9.2): the current document at once, then each
 * change, until the operation ends, the app closes or the client leaves. A client that reads slowly misses documents in
 * between: at most one waits for it.
 */
export function statusStream(options: StatusStreamOptions): Readable {
  const { first, read, watch, isClosing, retry, readInterval, schedule, onEnd } = options
  let next: string | null = `retry: ${retry}\n${textOf(first)}`
  let sent = first.data
  let isWanted = false
  // It may have changed before it was watched.
  let isStale = true
  let isReading = false
  let isOver = false
  const stream = new Readable({
    highWaterMark: 1,
    read() {
      isWanted = true
      advance()
    },
    destroy(error, done) {
      for (const stop of stops) stop()
      onEnd()
      done(error)
    },
  })
  const stops = [watch(wake), repeat(schedule, keepAlive, comment)]
  if (readInterval !== null) stops.push(repeat(schedule, readInterval, wake))

  function wake(): void {
    isStale = true
    if (!isClosing()) advance()
    else if (isWanted) end()
    // A client that does not read would keep the server from closing.
    else if (!isOver) stream.destroy()
  }

  function comment(): void {
    if (isWanted) write(':\n\n')
  }

  function write(text: string | null): void {
    isWanted = false
    stream.push(text)
  }

  function end(): void {
    isOver = true
    write(null)
  }

  function advance(): void {
    if (!isWanted) return
    if (next !== null) {
      const text = next
      next = null
      write(text)
    } else if (isStale && !isReading) void readAgain()
  }

  async function readAgain(): Promise<void> {
    isReading = true
    isStale = false
    // If the store cannot be reached, the next read finds what changed.
    const event = await read().catch(() => undefined)
    isReading = false
    if (stream.destroyed || isOver || event === undefined) return
    if (event !== null && event.data !== sent) {
      sent = event.data
      write(textOf(event))
    }
    if (event === null || event.isLast) end()
    else advance()
  }

  return stream
}

function textOf({ id, data }: StatusEvent): string {
  return `event: status\nid: ${id}\ndata: ${data}\n\n`
}

function repeat(schedule: Schedule, milliseconds: number, run: () => void): () => void {
  let stop = schedule(again, milliseconds)
  function again(): void {
    stop = schedule(again, milliseconds)
    run()
  }
  return () => stop()
}
