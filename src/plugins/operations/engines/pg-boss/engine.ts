import { randomInt } from 'node:crypto'
import pg from 'pg'
import PgBoss from 'pg-boss'
import { withRetries } from '../../../../stores/postgres-retry.js'
import { inTime } from '../../../../time/in-time.js'
import { scheduleTimeout } from '../../../../time/schedule.js'
import {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from '../engine.js'
import { type PgBossEngineOptions, type PgBossSettings, resolvePgBossOptions } from './options.js'

/**
 * Hands operations to all processes that share a queue in PostgreSQL, through
 * [pg-boss](https://github.com/timgit/pg-boss) 10.4, which has to be installed, with `pg` and PostgreSQL 13 or later. It works
 * behind PgBouncer in transaction mode.
 *
 * Processes look for operations of others once in an `interval`, and at once after they have started or ended one. The
 * operations of a killed process run again after `lease`. While PostgreSQL does not answer, a start fails within five
 * seconds, and a close waits no longer for it either.
 *
 * Not for a service of one process: the engine in the process needs no queue. With Redis, the engine on BullMQ has no
 * interval.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function pgBossEngine(options: PgBossEngineOptions): OperationEngine {
  const settings = resolvePgBossOptions(options)
  let engine: BossQueue | null = null
  let isClosed = false
  return {
    isShared: true,
    async start(given) {
      engine = new BossQueue(settings, given)
      try {
        await engine.open()
      } catch (error) {
        await engine.close()
        throw error
      }
    },
    async work() {
      if (settings.work && !isClosed) engine?.work()
    },
    async pause() {
      engine?.pause()
    },
    async enqueue(job) {
      if (isClosed) throw new Error('the engine is closed')
      if (engine === null) throw new Error('the engine has not been started')
      return engine.add(job)
    },
    async close() {
      isClosed = true
      await engine?.close()
    },
  }
}

/** A queue of pg-boss. Jobs are fetched here and not by its workers, whose failures are unhandled rejections. */
class BossQueue {
  readonly #settings: PgBossSettings
  readonly #given: OperationWorker
  readonly #boss: PgBoss
  readonly #ownPool: pg.Pool | null
  readonly #running = new Map<string, Promise<void>>()
  #isWorking = false
  #isClosed = false
  /** Whether PostgreSQL failed the last time. */
  #isAway = false
  #fetching: Promise<void> | null = null
  #stopTimer = () => {}
  #counted = 0
  #countedAt = Number.NEGATIVE_INFINITY

  constructor(settings: PgBossSettings, given: OperationWorker) {
    const { postgres, migrate, work } = settings
    this.#settings = settings
    this.#given = given
    this.#ownPool = typeof postgres === 'string' ? newPool(postgres) : null
    const pool = typeof postgres === 'string' ? (this.#ownPool as pg.Pool) : postgres
    this.#ownPool?.on('error', (error) => this.#failed(error))
    const executeSql = (text: string, values: unknown[]) => this.#report(pool.query(text, values))
    this.#boss = new PgBoss({ db: { executeSql }, schema, migrate, supervise: work, schedule: false })
    this.#boss.on('error', (error) => this.#failed(error))
  }

  /** @throws Error that says what to do */
  async open(): Promise<void> {
    const { queue, migrate } = this.#settings
    try {
      await this.#boss.start()
      // Of processes that create it at once, PostgreSQL may end one by a deadlock.
      if (migrate) await withRetries(() => this.#boss.createQueue(queue))
    } catch (error) {
      if (!(error instanceof Error) || !/pg-boss/.test(error.message)) throw error
      throw new Error(`${error.message} in the PostgreSQL schema '${schema}': ${remedy}`, { cause: error })
    }
    if ((await this.#boss.getQueue(queue)) === null) {
      throw new Error(`there is no queue '${queue}' of pg-boss in the schema '${schema}': ${remedy}`)
    }
  }

  work(): void {
    this.#isWorking = true
    this.#fetch()
  }

  pause(): void {
    this.#isWorking = false
    this.#stopTimer()
  }

  /** @throws OperationQueueFullError; LateError; an error of PostgreSQL */
  async add(job: OperationJob): Promise<void> {
    const { maxQueued } = this.#settings
    if ((await this.#count()) >= maxQueued) {
      throw new OperationQueueFullError(`${maxQueued} operations wait already`)
    }
    this.#counted += 1
    if (!(await this.#send(job, job.delay)) && job.isNew !== true) await this.#revive(job)
    // A delayed one is found by the interval.
    if (job.delay <= 0) this.#fetch()
  }

  async close(): Promise<void> {
    this.pause()
    this.#isClosed = true
    await this.#fetching
    while (this.#running.size > 0) await Promise.all(this.#running.values())
    const closed = this.#boss.stop({ graceful: false }).then(() => this.#ownPool?.end())
    await inTime(closed, answerTimeout, 'the end of a connection').catch(() => {})
  }

  /** Fetches operations until no more can run, or none waits; looks again after a while. */
  #fetch(): void {
    if (!this.#isWorking) return
    this.#fetching ??= this.#fetchAll().finally(() => {
      this.#fetching = null
      this.#stopTimer()
      // The processes do not look all at once.
      const pause = randomInt(Math.ceil(this.#settings.interval / 2), this.#settings.interval + 1)
      if (this.#isWorking) this.#stopTimer = scheduleTimeout(() => this.#fetch(), pause)
    })
  }

  async #fetchAll(): Promise<void> {
    const { queue, concurrency } = this.#settings
    while (this.#isWorking && this.#running.size < concurrency) {
      const batchSize = concurrency - this.#running.size
      // It returns no jobs if PostgreSQL fails.
      const jobs = await this.#boss.fetch<JobData>(queue, { batchSize, includeMetadata: true })
      for (const { id: uuid, data, priority } of jobs) {
        const job = { id: uuid.replaceAll('-', ''), name: data.name, priority }
        const run = this.#process(job).finally(() => {
          this.#running.delete(job.id)
          this.#fetch()
        })
        this.#running.set(job.id, run)
      }
      if (jobs.length < batchSize) return
    }
  }

  /** Runs an operation, and stores what becomes of its job. If that fails, the record leads to another job. */
  async #process(job: StoredJob): Promise<void> {
    const { queue } = this.#settings
    try {
      // It arrived during a pause or a close.
      const outcome: RunOutcome = this.#isWorking ? await this.#outcomeOf(job.id) : { kind: 'released' }
      if (outcome.kind === 'released') this.pause()
      const delay = delayAfter(outcome)
      if (delay !== null) await this.#sendAgain(job, delay)
      else await this.#boss.complete(queue, job.id, outcome)
    } catch (error) {
      this.#failed(error)
    }
  }

  async #outcomeOf(id: string): Promise<RunOutcome> {
    try {
      const outcome = await this.#given.run(id)
      this.#given.recovered()
      return outcome
    } catch (error) {
      this.#given.failed('an operation could not be run', error)
      // The next one would fail in the same way.
      await new Promise<void>((resolve) => scheduleTimeout(resolve, rest))
      return { kind: 'retry', delay: backoff }
    }
  }

  /** Adds a job; returns `false` if there is one of this id. */
  async #send({ id, name, priority }: StoredJob, delay: number): Promise<boolean> {
    const sent = await this.#boss.send(
      this.#settings.queue,
      { name },
      {
        id,
        priority,
        ...(delay > 0 ? { startAfter: delay / 1_000 } : {}),
        // The record limits the runs.
        retryLimit: withoutEnd,
        expireInHours: 23,
        retentionDays: 365,
      },
    )
    return sent !== null
  }

  async #sendAgain(job: StoredJob, delay: number): Promise<void> {
    await this.#boss.deleteJob(this.#settings.queue, job.id)
    await this.#send(job, delay)
  }

  /** Replaces a job that has ended, or waits too long, or is in a process that may be dead. */
  async #revive(job: OperationJob): Promise<void> {
    if (this.#running.has(job.id)) return
    const found = await this.#boss.getJobById(this.#settings.queue, job.id)
    const isWaiting = found?.state === 'created' || found?.state === 'retry'
    if (isWaiting && found.startAfter.getTime() <= Date.now() + job.delay) return
    await this.#sendAgain(job, job.delay)
  }

  /** Returns the number of waiting jobs as of ten seconds ago at most; as of a second ago if the queue seems full. */
  async #count(): Promise<number> {
    const age = Date.now() - this.#countedAt
    const isFull = this.#counted >= this.#settings.maxQueued
    if (age > (isFull ? countedFor : longestCountedFor)) {
      this.#countedAt = Date.now()
      this.#counted = await this.#boss.getQueueSize(this.#settings.queue)
    }
    return this.#counted
  }

  async #report<Result>(asked: Promise<Result>): Promise<Result> {
    try {
      const result = await inTime(asked, answerTimeout, 'an answer of PostgreSQL')
      if (this.#isAway) this.#given.recovered()
      this.#isAway = false
      return result
    } catch (error) {
      this.#failed(error)
      throw error
    }
  }

  #failed(error: unknown): void {
    if (this.#isClosed) return
    this.#isAway = true
    this.#given.failed('the queue of operations cannot be reached', error)
  }
}

interface JobData {
  readonly name: string
}

type StoredJob = Pick<OperationJob, 'id' | 'name' | 'priority'>

function newPool(url: string): pg.Pool {
  return new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: answerTimeout,
    query_timeout: answerTimeout * 2,
  })
}

/** Returns after how many milliseconds an operation has to run again; `null` for never. */
function delayAfter(outcome: RunOutcome): number | null {
  switch (outcome.kind) {
    case 'busy':
      return Math.max(outcome.delay, shortestPause)
    case 'retry':
      return outcome.delay
    case 'released':
      return 0
    case 'not-implemented':
      return randomInt(shortestPause, longestPause)
    default:
      return null
  }
}

const schema = 'pgboss'
const remedy = 'start once with `migrate: true`, or see PgBoss.getConstructionPlans() of pg-boss'
const answerTimeout = 5_000
const rest = 1_000
const backoff = 5_000
const shortestPause = 100
const longestPause = 500
const countedFor = 1_000
const longestCountedFor = 10_000
const withoutEnd = 1_000_000_000
