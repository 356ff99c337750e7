import type { OperationEngine } from '../engine.js'
import { clientIn } from './backends.js'
import { Faults } from './faults.js'
import { JobQueue } from './job-queue.js'
import { JobWorker } from './job-worker.js'
import { type BullmqEngineOptions, resolveBullmqOptions } from './options.js'
import { checkPostgresSchema } from './server-checks.js'

/**
 * Hands operations to all processes that share a queue, through [BullMQ](https://docs.bullmq.io) 6 from 6.7 on, which
 * has to be installed, with `ioredis` (Redis 5 or later, and not one that evicts keys) or `pg` (PostgreSQL 13 or later).
 *
 * A job carries the id of its operation and nothing else; the records decide who runs it. A process that is killed loses
 * its jobs to the others within its lease. A job whose record cannot be reached comes again after a second, then after
 * twice as long each time, up to thirty. While the queue does not answer, a start fails within five seconds, and at once
 * where others wait already; a close waits no longer for it either.
 *
 * Not for a service of one process: the engine in the process needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function bullmqEngine(options: BullmqEngineOptions): OperationEngine {
  const settings = resolveBullmqOptions(options)
  const { place, work } = settings
  let queue: JobQueue | null = null
  let worker: JobWorker | null = null
  let closed: Promise<unknown> | null = null

  async function close(): Promise<void> {
    closed ??= Promise.all([worker?.close(), queue?.close()])
    await closed
  }

  return {
    isShared: true,
    connection: clientIn(place),
    async start(given) {
      const faults = new Faults(given)
      try {
        if ('postgres' in place) await checkPostgresSchema(place)
        queue = new JobQueue(settings, faults)
        const { isWarnedOf } = await queue.ready()
        if (!work) return
        worker = new JobWorker(settings, given, faults, isWarnedOf)
        await worker.open()
      } catch (error) {
        await close()
        throw error
      }
    },
    async enqueue(id) {
      if (closed !== null) throw new Error('the engine is closed')
      if (queue === null) throw new Error('the engine has not been started')
      return queue.add(id)
    },
    close,
  }
}
