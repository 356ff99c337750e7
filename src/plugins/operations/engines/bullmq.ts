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
import {
  checksOf,
  type OptionsOf,
  option,
  type ResolvedOptions,
  resolveOptions,
  text,
} from '../../../options.js'
import { inTime, LateError, scheduleTimeout } from '../../../time/schedule.js'
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
  serverOf,
  sharedEngine,
  unreachable,
} from './engine.js'

export {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from './engine.js'

const server = serverOf<ConnectionOptions>(
  /^rediss?:\/\//,
  'a redis:// or rediss:// URL, options of ioredis, or a client',
  () => true,
)

const declared = {
  /**
   * Name of the queue; engines with the same name, on the same server, share the work. On a Redis Cluster the name needs
   * braces: `'{operations}'`.
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
 * installed, with `ioredis` and Redis 5 or later that does not evict keys.
 *
 * BullMQ owns the work: a job has the id and the name of its operation, and its priority, delay, attempts and backoff. A
 * process that is killed loses its jobs to the others within `lease`, by BullMQ's stalled check. While Redis does not answer,
 * a start fails within five seconds, and at once where others wait already; a close waits no longer for it either.
 *
 * Not for a service of one process: the engine in the process needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN; TypeError for another release of BullMQ
 */
export function bullmqEngine(options: BullmqEngineOptions): OperationEngine {
  // A peer range would make npm refuse an app with another release that uses no engine.
  const { BULLMQ_MAJOR_VERSION: major = 'before 6' } = bullmq as { readonly BULLMQ_MAJOR_VERSION?: number }
  if (major !== 6) throw new TypeError(`bullmqEngine needs bullmq 6.7; the app has installed ${major}`)
  const [checks, defaults] = checksOf(declared)
  const { redis, ...others } = options ?? {}
  const settings: Settings = {
    ...resolveOptions<OptionsOf<typeof declared>, typeof defaults>('bullmqEngine', others, checks, defaults),
    redis: server('bullmqEngine.redis', redis),
  }
  return sharedEngine(settings.work, true, (given) => new JobQueue(settings, given))
}

class JobQueue {
  readonly #settings: Settings
  readonly #given: OperationWorker
  readonly #queue: Queue<null, null, string>
  readonly #limit: () => Promise<void>
  readonly #givenUp = new AbortController()
  #lastError: unknown
  #worker: JobWorker | null = null
  /** Number of jobs whose addition is pending beyond its time limit. */
  #late = 0
  #isClosed = false

  constructor(settings: Settings, given: OperationWorker) {
    this.#settings = settings
    this.#given = given
    const keep = { age: keptFor, count: keptJobs }
    const queue = new Queue<null, null, string>(settings.queue, {
      connection: connectionTo(settings.redis, false, this.#givenUp.signal),
      // The store checks the server, and writes nothing to the console.
      skipVersionCheck: true,
      defaultJobOptions: { stackTraceLimit: 1, removeOnComplete: keep, removeOnFail: keep },
    })
    this.#queue = queue
    this.#limit = queueLimit(settings.maxQueued, () =>
      queue.getJobCountByTypes('wait', 'prioritized', 'delayed'),
    )
    queue.on('error', (error) => this.#failed(error))
    silence(queue)
  }

  async open(): Promise<void> {
    try {
      await inTime(this.#queue.waitUntilReady(), answerTimeout, 'an answer of Redis')
      const client = await this.#queue.getBackend().client
      client.on('ready', () => this.#given.recovered())
    } catch (error) {
      if (!(error instanceof LateError)) throw error
      const cause = this.#lastError ?? error
      throw new Error(`${unreachable}: ${error.message}`, { cause })
    }
  }

  async add(job: OperationJob): Promise<void> {
    // After one late answer, the next one would be late, too.
    if (this.#late > 0) throw new LateError('the queue of operations does not answer')
    const added = this.#add(job)
    try {
      await inTime(added, answerTimeout, 'an answer of the queue of operations')
      this.#given.recovered()
    } catch (error) {
      if (error instanceof OperationQueueFullError) throw error
      if (error instanceof LateError) {
        this.#late += 1
        added.catch(ignore).finally(() => {
          this.#late -= 1
        })
      }
      this.#failed(error)
      throw error
    }
  }

  work(): void {
    this.#worker ??= new JobWorker(this.#settings, this.#given)
    this.#worker.work()
  }

  async pause(): Promise<void> {
    await this.#worker?.pause()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const closed = closeInTime(this.#queue, this.#queue.close(), this.#settings.redis, this.#givenUp)
    await Promise.all([this.#worker?.close(), closed])
  }

  async #add({ id, name, delay, priority, retries, backoff, isNew }: OperationJob): Promise<void> {
    await this.#limit()
    if (isNew !== true) await this.#removeEnded(id)
    await this.#queue.add(name, null, {
      jobId: id,
      delay,
      // The clock of this process may be wrong.
      timestamp: this.#given.now(),
      // In BullMQ 1 is the highest priority, and jobs without one come before all others.
      priority: lowestPriority - priority,
      attempts: retries + 1,
      backoff: { type: 'exponential', delay: backoff, jitter: 0.25 },
    })
  }

  /** Removes a job that has ended without its operation. */
  async #removeEnded(id: string): Promise<void> {
    const state = await this.#queue.getJobState(id)
    if (state === 'completed' || state === 'failed') await this.#queue.remove(id)
  }

  #failed(error: unknown): void {
    this.#lastError = error
    if (!this.#isClosed) this.#given.failed(unreachable, error)
  }
}

type OperationOfJob = Job<null, null, string>

class JobWorker {
  readonly #worker: Worker<null, null, string>
  readonly #given: OperationWorker
  readonly #redis: Settings['redis']
  readonly #runs = new Set<Promise<unknown>>()
  /** Jobs whose run is over, and whose end Redis does not know yet. */
  readonly #ending = new Set<string | undefined>()
  #onEnd = ignore
  readonly #closing = new AbortController()
  readonly #givenUp = new AbortController()
  #isPaused = false
  #isResting = false

  constructor({ redis, queue, concurrency }: Settings, given: OperationWorker) {
    this.#given = given
    this.#redis = redis
    const worker = new Worker<null, null, string>(queue, (job, token) => this.#process(job, token), {
      connection: connectionTo(redis, true, this.#givenUp.signal),
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
    this.#worker = worker
    worker.on('error', (error) => this.#failed(error))
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) given.lost(id)
    })
    worker.on('stalled', (id) => given.lost(id))
    worker.on('completed', ({ id }) => this.#ended(id))
    worker.on('failed', (job) => this.#ended(job?.id))
    silence(worker)
  }

  work(): void {
    this.#isPaused = false
    if (this.#worker.isPaused()) this.#worker.resume().catch(ignore)
    else if (!this.#worker.isRunning()) this.#worker.run().catch((error) => this.#failed(error))
  }

  async pause(): Promise<void> {
    this.#isPaused = true
    await this.#worker.pause(true)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.pause()
    while (this.#runs.size > 0) await Promise.allSettled(this.#runs)
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve
    })
    if (this.#ending.size > 0) await inTime(ended, answerTimeout, 'the end of a job').catch(ignore)
    // Forced: otherwise BullMQ waits for a server that is gone.
    await closeInTime(this.#worker, this.#worker.close(true), this.#redis, this.#givenUp)
  }

  async #process(job: OperationOfJob, token: string | undefined): Promise<null> {
    // A worker that pauses or closes may get one more job.
    if (this.#isPaused || this.#closing.signal.aborted) return this.#handBack(job, token)
    const run = this.#run(job, token)
    this.#runs.add(run)
    try {
      return await run
    } finally {
      this.#runs.delete(run)
    }
  }

  /** Runs an operation, and decides what becomes of its job. What it throws tells BullMQ. */
  async #run(job: OperationOfJob, token: string | undefined): Promise<null> {
    const { id = '', attemptsMade, opts } = job
    const isLast = attemptsMade + 1 >= (opts.attempts ?? 1)
    const outcome = await runJob(this.#given, id, isLast, this.#closing.signal)
    if (outcome.kind === 'ended' || outcome.kind === 'retry') this.#ending.add(job.id)
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
        // This worker would take it again.
        await this.pause()
        return this.#handBack(job, token)
    }
  }

  #ended(id: string | undefined): void {
    this.#ending.delete(id)
    if (this.#ending.size === 0) this.#onEnd()
  }

  async #handBack(job: OperationOfJob, token: string | undefined): Promise<never> {
    await job.moveToWait(token)
    throw new WaitingError()
  }

  #failed(error: Error): void {
    // BullMQ emits 'lockRenewalFailed' too.
    const isLockLost = isOfAnother(error) || error.message.startsWith('could not renew lock')
    if (this.#closing.signal.aborted || isLockLost) return
    this.#given.failed(unreachable, error)
    if (error.name === 'ReplyError') this.#slowDown()
  }

  /** Stops for a while: BullMQ tries again at once when Redis answers with an error, such as that its memory is full. */
  #slowDown(): void {
    if (this.#isResting || this.#isPaused) return
    this.#isResting = true
    this.#worker.pause(true).catch(ignore)
    scheduleTimeout(() => {
      this.#isResting = false
      if (!this.#isPaused && !this.#closing.signal.aborted) this.work()
    }, rest)
  }
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
function isOfAnother(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return (
    code === ErrorCode.JobNotExist ||
    code === ErrorCode.JobLockNotExist ||
    code === ErrorCode.JobNotInState ||
    code === ErrorCode.JobLockMismatch
  )
}

const mostRuns = 1_000
const lowestPriority = 101
const keptFor = 24 * 60 * 60
/** Of completed, and of failed, jobs. */
const keptJobs = 1_000
