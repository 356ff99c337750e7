import * as bullmq from 'bullmq'
import {
  type ConnectionOptions,
  DelayedError,
  ErrorCode,
  type IRedisClient,
  type Job,
  Queue,
  type RedisConnectionClient,
  UnrecoverableError,
  WaitingError,
  Worker,
} from 'bullmq'
import { type OptionsOf, option, type ResolvedOptions, resolveOptions, text } from '../../../options.js'
import { inTime, LateError, scheduleTimeout } from '../../../time/async.js'
import {
  answerTimeout,
  ignore,
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  queueLimit,
  queueOptions,
  rest,
  runJob,
  type SharedQueue,
  serverOf,
  sharedEngine,
  unreachable,
} from './engine.js'

const server = serverOf<ConnectionOptions>(
  /^rediss?:\/\//,
  'a redis:// or rediss:// URL, options of ioredis, or a client',
  () => true,
)

const declared = {
  /**
   * Name of the queue; engines with the same name, on the same server, share the work, so each service needs its own: a
   * `keyPrefix` of ioredis does not separate them. On a Redis Cluster the name needs braces: `'{operations}'`.
   * @default 'operations'
   */
  queue: option(text("a name without ':'", /^[^:]+$/), 'operations'),
  ...queueOptions,
}

/** Options of {@link bullmqEngine}. */
export interface BullmqEngineOptions extends OptionsOf<typeof declared> {
  /**
   * A URL, options of [ioredis](https://github.com/redis/ioredis), or a client of it. A client stays open when
   * the engine closes; in a process that runs operations it needs `maxRetriesPerRequest: null`.
   */
  readonly redis: string | ConnectionOptions
}

type Settings = ResolvedOptions<typeof declared> & Pick<BullmqEngineOptions, 'redis'>

/**
 * Hands operations to all processes that share a queue, through [BullMQ](https://docs.bullmq.io) 6.7, which has to be
 * installed, with `ioredis` and Redis 5 or later that does not evict keys. A process that is killed loses its jobs to the
 * others within `lease`. While Redis does not answer, a start fails within five seconds, and a close waits no longer either.
 *
 * Not for a service of one process: the engine in the process needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN; TypeError for another release of BullMQ
 */
export function bullmqEngine(options: BullmqEngineOptions): OperationEngine {
  // A peer range would make npm refuse an app with another release that uses no engine.
  const { BULLMQ_MAJOR_VERSION: major = 'before 6' } = bullmq as { readonly BULLMQ_MAJOR_VERSION?: number }
  if (major !== 6) throw new TypeError(`bullmqEngine needs bullmq 6.7; the app has installed ${major}`)
  const { redis, ...others } = options ?? {}
  const settings: Settings = {
    ...resolveOptions('bullmqEngine', others, declared),
    redis: server('bullmqEngine.redis', redis),
  }
  return sharedEngine(settings.work, true, (worker) => jobQueue(settings, worker))
}

function jobQueue(settings: Settings, given: OperationWorker): SharedQueue {
  const { redis, maxQueued } = settings
  const keep = { age: keptFor, count: keptJobs }
  const givenUp = new AbortController()
  const queue = new Queue<null, null, string>(settings.queue, {
    connection: connectionTo(redis, false, givenUp.signal),
    // The store checks the server, and writes nothing to the console.
    skipVersionCheck: true,
    defaultJobOptions: { stackTraceLimit: 1, removeOnComplete: keep, removeOnFail: keep },
  })
  const limit = queueLimit(maxQueued, () => queue.getJobCountByTypes('wait', 'prioritized', 'delayed'))
  let lastError: unknown
  let worker: ReturnType<typeof jobWorker> | null = null
  // Number of jobs whose addition is pending beyond its time limit.
  let late = 0
  let isClosed = false
  queue.on('error', failed)
  silence(queue)

  function failed(error: unknown): void {
    lastError = error
    if (!isClosed) given.failed(unreachable, error)
  }

  async function add(job: OperationJob): Promise<void> {
    const { id, name, delay, priority, retries, backoff, isNew } = job
    await limit()
    // A job may have ended without its operation.
    const state = isNew === true ? null : await queue.getJobState(id)
    if (state === 'completed' || state === 'failed') await queue.remove(id)
    await queue.add(name, null, {
      jobId: id,
      delay,
      // The clock of this process may be wrong.
      timestamp: given.now(),
      // In BullMQ 1 is the highest priority, and jobs without one come before all others.
      priority: lowestPriority - priority,
      attempts: retries + 1,
      backoff: { type: 'exponential', delay: backoff, jitter: 0.25 },
    })
  }

  return {
    async open() {
      try {
        await inTime(queue.waitUntilReady(), answerTimeout, 'an answer of Redis')
        const client = await queue.getBackend().client
        client.on('ready', () => given.recovered())
      } catch (error) {
        if (!(error instanceof LateError)) throw error
        throw new Error(`${unreachable}: ${error.message}`, { cause: lastError ?? error })
      }
    },
    async add(job) {
      // After one late answer, the next one would be late, too.
      if (late > 0) throw new LateError('the queue of operations does not answer')
      const added = add(job)
      try {
        await inTime(added, answerTimeout, 'an answer of the queue of operations')
        given.recovered()
      } catch (error) {
        if (error instanceof OperationQueueFullError) throw error
        if (error instanceof LateError) {
          late += 1
          added.catch(ignore).finally(() => {
            late -= 1
          })
        }
        failed(error)
        throw error
      }
    },
    work() {
      worker ??= jobWorker(settings, given)
      worker.work()
    },
    async pause() {
      await worker?.pause()
    },
    async close() {
      isClosed = true
      await Promise.all([worker?.close(), closeInTime(queue, queue.close(), redis, givenUp)])
    },
  }
}

type OperationOfJob = Job<null, null, string>

function jobWorker({ redis, queue, concurrency }: Settings, given: OperationWorker) {
  const runs = new Set<Promise<unknown>>()
  // Jobs whose run is over, and whose end Redis does not know yet.
  const ending = new Set<string | undefined>()
  const closing = new AbortController()
  const givenUp = new AbortController()
  let onEnd = ignore
  let isPaused = false
  let isResting = false
  const worker = new Worker<null, null, string>(queue, runJobOf, {
    connection: connectionTo(redis, true, givenUp.signal),
    skipVersionCheck: true,
    autorun: false,
    concurrency,
    // The job of a dead process is found within its lease.
    lockDuration: Math.ceil((given.lease * 3) / 4),
    stalledInterval: Math.ceil(given.lease / 8),
    // Each operation has a `maxRuns` of its own, which the record counts.
    maxStalledCount: mostRuns,
    runRetryDelay: rest,
  })
  worker.on('error', failed)
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) given.lost(id)
  })
  worker.on('stalled', (id) => given.lost(id))
  worker.on('completed', ({ id }) => ended(id))
  worker.on('failed', (job) => ended(job?.id))
  silence(worker)

  function work(): void {
    isPaused = false
    if (worker.isPaused()) worker.resume().catch(ignore)
    else if (!worker.isRunning()) worker.run().catch(failed)
  }

  async function pause(): Promise<void> {
    isPaused = true
    await worker.pause(true)
  }

  async function runJobOf(job: OperationOfJob, token: string | undefined): Promise<null> {
    // A worker that pauses or closes may get one more job.
    if (isPaused || closing.signal.aborted) return handBack(job, token)
    const run = runOf(job, token)
    runs.add(run)
    try {
      return await run
    } finally {
      runs.delete(run)
    }
  }

  /** Runs an operation, and decides what becomes of its job. What it throws tells BullMQ. */
  async function runOf(job: OperationOfJob, token: string | undefined): Promise<null> {
    const { id = '', attemptsMade, opts } = job
    const isLast = attemptsMade + 1 >= (opts.attempts ?? 1)
    const outcome = await runJob(given, id, isLast, closing.signal)
    if (outcome.kind === 'ended' || outcome.kind === 'retry') ending.add(job.id)
    switch (outcome.kind) {
      case 'ended':
        if (outcome.hasFailed) throw new UnrecoverableError('the operation has failed')
        return null
      case 'retry':
        throw new Error('the handler has failed')
      case 'later':
        await job.moveToDelayed(Date.now() + outcome.delay, token)
        throw new DelayedError()
      case 'released':
        // Without the pause, this worker would take the job again.
        await pause()
        return handBack(job, token)
    }
  }

  function ended(id: string | undefined): void {
    ending.delete(id)
    if (ending.size === 0) onEnd()
  }

  function failed(error: Error): void {
    // BullMQ emits 'lockRenewalFailed' too.
    const isLockLost = isOfAnother(error) || error.message.startsWith('could not renew lock')
    if (closing.signal.aborted || isLockLost) return
    given.failed(unreachable, error)
    // ioredis sets `command` on the errors that Redis answers. Their name is that of a class, which a bundler may change.
    if ('command' in error) slowDown()
  }

  /** Stops for a while: BullMQ tries again at once when Redis answers with an error, such as that its memory is full. */
  function slowDown(): void {
    if (isResting || isPaused) return
    isResting = true
    worker.pause(true).catch(ignore)
    scheduleTimeout(() => {
      isResting = false
      if (!isPaused && !closing.signal.aborted) work()
    }, rest)
  }

  return {
    work,
    pause,
    async close(): Promise<void> {
      closing.abort()
      await pause()
      while (runs.size > 0) await Promise.allSettled(runs)
      const allEnded = new Promise<void>((resolve) => {
        onEnd = resolve
      })
      if (ending.size > 0) await inTime(allEnded, answerTimeout, 'the end of a job').catch(ignore)
      // Forced: otherwise BullMQ waits for a server that is gone.
      await closeInTime(worker, worker.close(true), redis, givenUp)
    },
  }
}

async function handBack(job: OperationOfJob, token: string | undefined): Promise<never> {
  await job.moveToWait(token)
  throw new WaitingError()
}

/** @param givenUp aborts when nothing waits for the connection any more */
function connectionTo(
  redis: string | ConnectionOptions,
  isForWork: boolean,
  givenUp: AbortSignal,
): ConnectionOptions {
  if (isClient(redis)) return redis
  return {
    ...(typeof redis === 'string' ? { url: redis } : redis),
    retryStrategy: (times: number) => (givenUp.aborted ? null : Math.min(50 * 2 ** times, 2_000)),
    ...(isForWork ? { maxRetriesPerRequest: null } : {}),
  }
}

function isClient(redis: string | ConnectionOptions): redis is IRedisClient | RedisConnectionClient {
  return typeof redis === 'object' && 'connect' in redis && typeof redis.connect === 'function'
}

/** Keeps ioredis from writing errors to the console after BullMQ has stopped listening. */
function silence(part: Queue | Worker): void {
  const { client, blockingClient } = part.getBackend()
  for (const connection of [client, blockingClient]) {
    connection?.then((opened) => opened.on('error', ignore), ignore)
  }
}

/** Waits until a queue or a worker is closed; ends its connections if its server does not answer in time. */
async function closeInTime(
  part: Queue | Worker,
  closed: Promise<void>,
  redis: string | ConnectionOptions,
  givenUp: AbortController,
): Promise<void> {
  try {
    await inTime(closed, answerTimeout, 'the end of a connection')
  } catch {
    const backend = part.getBackend()
    const { client, blockingClient } = backend
    // A connection that was never ready ends by this alone.
    backend.close(true).catch(ignore)
    for (const connection of isClient(redis) ? [blockingClient] : [client, blockingClient]) {
      connection?.then(end).catch(ignore)
    }
  } finally {
    givenUp.abort()
  }
}

// BullMQ waits for the end of a connection, which does not come while ioredis waits for the next attempt to connect.
async function end(client: IRedisClient): Promise<void> {
  await (client.status === 'reconnecting' ? client.connect() : client.disconnect())
}

/** Whether another process has taken or ended a job. */
function isOfAnother(error: Error): boolean {
  return 'code' in error && codesOfAnother.includes(error.code)
}

const codesOfAnother: readonly unknown[] = [
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
]

const mostRuns = 1_000
const lowestPriority = 101
const keptFor = 24 * 60 * 60
/** Of completed, and of failed, jobs. */
const keptJobs = 1_000
