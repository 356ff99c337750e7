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
 * The status of an operation as server-sent events (HTML Living Standard §9.2): the current document at once, then each
 * change, until the operation ends, the app closes or the client leaves. A client that reads slowly misses documents in
 * between: at most one waits for it.
 */
export class StatusStream extends Readable {
  readonly #options: StatusStreamOptions
  readonly #stops: (() => void)[]
  #next: string | null
  #sent: string
  #isWanted = false
  // It may have changed before it was watched.
  #isStale = true
  #isReading = false
  #isOver = false

  constructor(options: StatusStreamOptions) {
    super({ highWaterMark: 1 })
    const { first, retry, readInterval, schedule, watch } = options
    this.#options = options
    this.#sent = first.data
    this.#next = `retry: ${retry}\n${textOf(first)}`
    const wake = () => this.#wake()
    this.#stops = [
      watch(wake),
      repeat(schedule, keepAlive, () => this.#keepAlive()),
      ...(readInterval === null ? [] : [repeat(schedule, readInterval, wake)]),
    ]
  }

  override _read(): void {
    this.#isWanted = true
    this.#advance()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#options.onEnd()
    done(error)
  }

  #wake(): void {
    this.#isStale = true
    if (!this.#options.isClosing()) this.#advance()
    else if (this.#isWanted) this.#end()
    // A client that does not read would keep the server from closing.
    else if (!this.#isOver) this.destroy()
  }

  #keepAlive(): void {
    if (this.#isWanted) this.#write(':\n\n')
  }

  #write(text: string): void {
    this.#isWanted = false
    this.push(text)
  }

  #end(): void {
    this.#isWanted = false
    this.#isOver = true
    this.push(null)
  }

  #advance(): void {
    if (!this.#isWanted) return
    const text = this.#next
    if (text !== null) {
      this.#next = null
      this.#write(text)
    } else if (this.#isStale && !this.#isReading) {
      void this.#readAgain()
    }
  }

  async #readAgain(): Promise<void> {
    const { read } = this.#options
    this.#isReading = true
    this.#isStale = false
    // If the store cannot be reached, the next read finds what changed.
    const event = await read().catch(() => undefined)
    this.#isReading = false
    if (this.destroyed || this.#isOver || event === undefined) return
    if (event !== null && event.data !== this.#sent) {
      this.#sent = event.data
      this.#write(textOf(event))
    }
    if (event === null || event.isLast) this.#end()
    else this.#advance()
  }
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
