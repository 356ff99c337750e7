import { pipeline, type Readable, Transform } from 'node:stream'
import { type MaybeAsync, whenSettled } from '../../maybe-async.js'

/** What {@link collectAnswer} calls: one of the two, once. */
export interface Collector {
  /**
   * Called when all of the stream has passed, before its end does.
   * @param bytes `null` if there were too many
   */
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
