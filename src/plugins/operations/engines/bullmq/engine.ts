import * as bullmq from 'bullmq'
import type { OperationEngine, OperationWorker } from '../engine.js'
import { JobQueue } from './job-queue.js'
import { JobWorker } from './job-worker.js'
import { type BullmqEngineOptions, resolveBullmqOptions } from './options.js'

/**
 * Hands operations to all processes that share a queue, through [BullMQ](https://docs.bullmq.io) 6.7, which has to be
 * installed, with `ioredis` and Redis 5 or later that does not evict keys.
 *
 * A job has the id and the name of its operation, and no data; the records decide who runs it. BullMQ's locks replace the
 * lease of the record: a process that is killed loses its jobs to the others within `lease`. While Redis does not answer, a
 * start fails within five seconds, and at once where others wait already; a close waits no longer for it either.
 *
 * Not for a service of one process: the engine in the process needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN; TypeError for another release of BullMQ
 */
export function bullmqEngine(options: BullmqEngineOptions): OperationEngine {
  // A peer range would make npm refuse an app with another release that uses no engine.
  const { BULLMQ_MAJOR_VERSION: major = 'before 6' } = bullmq as { readonly BULLMQ_MAJOR_VERSION?: number }
  if (major !== 6) throw new TypeError(`bullmqEngine needs bullmq 6.7; the app has installed ${major}`)
  const settings = resolveBullmqOptions(options)
  let given: OperationWorker | null = null
  let queue: JobQueue | null = null
  let worker: JobWorker | null = null
  let isWarnedOf = false
  let closed: Promise<unknown> | null = null

  async function close(): Promise<void> {
    closed ??= Promise.all([worker?.close(), queue?.close()])
    await closed
  }

  return {
    isShared: true,
    takesOver: true,
    async start(received) {
      given = received
      queue = new JobQueue(settings, received)
      try {
        ;({ isWarnedOf } = await queue.ready())
      } catch (error) {
        await close()
        throw error
      }
    },
    async work() {
      if (given === null || closed !== null || !settings.work) return
      worker ??= new JobWorker(settings, given, isWarnedOf)
      worker.work()
    },
    async pause() {
      await worker?.pause()
    },
    async enqueue(job) {
      if (closed !== null) throw new Error('the engine is closed')
      if (queue === null) throw new Error('the engine has not been started')
      return queue.add(job)
    },
    close,
  }
}
