import type { IQueueBackend } from 'bullmq'
import { inTime } from '../../../../time/in-time.js'
import { ignore } from './ignore.js'
import { patience } from './patience.js'
import type { Backends } from './queue-backend.js'

/** A queue or a worker. */
export interface Shuttable {
  close(): Promise<void>
  disconnect(): Promise<void>
  getBackend(): IQueueBackend
}

/**
 * Closes a queue or a worker; without a word to its server where that does not answer in time.
 *
 * @param closed where it has been told to close already
 * @returns whether it closed in time
 */
export async function shut(part: Shuttable, backends: Backends, closed = part.close()): Promise<boolean> {
  try {
    await inTime(closed, patience, 'the end of a connection')
    return true
  } catch {
    backends.giveUp()
    // Which of the two gets through depends on where BullMQ is stuck.
    part.getBackend().close(true).catch(ignore)
    part.disconnect().catch(ignore)
    return false
  }
}
