import { randomInt } from 'node:crypto'
import pg from 'pg'
import PgBoss from 'pg-boss'
import {
  checksOf,
  flag,
  type OptionsOf,
  option,
  type ResolvedOptions,
  resolveOptions,
  text,
} from '../../../options.js'
import { withRetries } from '../../../stores/postgres-client.js'
import { inTime, scheduleTimeout } from '../../../time/schedule.js'
import {
  answerTimeout,
  ignore,
  type OperationEngine,
  type OperationJob,
  type OperationWorker,
  queueLimit,
  queueOptions,
  type RunOutcome,
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

/** A pool of [pg](https://node-postgres.com). */
export interface PgBossPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

const server = serverOf<PgBossPool>(
  /^postgres(ql)?:\/\//,
  'a postgres:// URL, or a pool of pg',
  ({ query }) => typeof query === 'function',
)

const declared = {
  /**
   * Name of the queue; engines with the same name, in the same database, share the work.
   * @default 'operations'
   */
  queue: option(text('a name of letters, digits, hyphens, dots and underscores', /^[\w.-]+$/), 'operations'),
  /**
   * Whether to create or update the schema of pg-boss, and the queue, at the start; the account needs the right to create
   * them. If not, and they are missing or old, the start fails with an error that says what to do.
   * @default false
   */
  migrate: option(flag, false),
  ...queueOptions,
}

/** Options of {@link pgBossEngine}. */
export interface PgBossEngineOptions extends OptionsOf<typeof declared> {
  /** A URL, or a pool of [pg](https://node-postgres.com), which stays open when the engine closes. */
  readonly postgres: string | PgBossPool
}

type Settings = ResolvedOptions<typeof declared> & Pick<PgBossEngineOptions, 'postgres'>

/**
 * Hands operations to all processes that share a queue in PostgreSQL, through
 * [pg-boss](https://github.com/timgit/pg-boss) 10.4, which has to be installed, with `pg` and PostgreSQL 13 or later. It works
 * behind PgBouncer in transaction mode.
 *
 * pg-boss owns priority, delay, retries and backoff of a job. It has no sign of life of a process: the operations of a killed
 * one run again after `lease`, by their records. Processes look for operations of others about once a second, and at once
 * after they have started or ended one. While PostgreSQL does not answer, a start fails within five seconds, and a close
 * waits no longer for it either.
 *
 * Not for a service of one process: the engine in the process needs no queue. With Redis, the engine on BullMQ looks for
 * nothing at intervals.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function pgBossEngine(options: PgBossEngineOptions): OperationEngine {
  const [checks, defaults] = checksOf(declared)
  const { postgres, ...others } = options ?? {}
  const settings: Settings = {
    ...resolveOptions<OptionsOf<typeof declared>, typeof defaults>('pgBossEngine', others, checks, defaults),
    postgres: server('pgBossEngine.postgres', postgres),
  }
  return sharedEngine(settings.work, false, (worker) => new BossQueue(settings, worker))
}

/**
 * A queue of pg-boss. Jobs are fetched here, because `work()` of pg-boss 10 does not await how it completes a job: without
 * PostgreSQL, that is an unhandled rejection, which ends the process.
 */
class BossQueue {
  readonly #settings: Settings
  readonly #given: OperationWorker
  readonly #boss: PgBoss
  readonly #ownPool: pg.Pool | null
  readonly #limit: () => Promise<void>
  readonly #runs = new Set<Promise<void>>()
  #isWorking = false
  readonly #closing = new AbortController()
  /** Whether PostgreSQL failed the last time. */
  #isAway = false
  #fetching: Promise<void> | null = null
  #stopTimer = () => {}

  constructor(settings: Settings, given: OperationWorker) {
    const { postgres, migrate, work, queue, maxQueued } = settings
    this.#settings = settings
    this.#given = given
    this.#ownPool = typeof postgres === 'string' ? newPool(postgres) : null
    const pool = this.#ownPool ?? (postgres as PgBossPool)
    this.#ownPool?.on('error', (error) => this.#failed(error))
    const executeSql = (text: string, values: unknown[]) => this.#report(pool.query(text, values))
    const boss = new PgBoss({ db: { executeSql }, schema, migrate, supervise: work, schedule: false })
    this.#boss = boss
    this.#limit = queueLimit(maxQueued, () => boss.getQueueSize(queue))
    boss.on('error', (error) => this.#failed(error))
  }

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

  async pause(): Promise<void> {
    this.#isWorking = false
    this.#stopTimer()
  }

  async add(job: OperationJob): Promise<void> {
    await this.#limit()
    if (!(await this.#send(job, job.delay)) && job.isNew !== true) await this.#replaceLost(job)
    // A delayed one is found by the interval.
    if (job.delay <= 0) this.#fetch()
  }

  async close(): Promise<void> {
    await this.pause()
    this.#closing.abort()
    await this.#fetching
    while (this.#runs.size > 0) await Promise.all(this.#runs)
    const closed = this.#boss.stop({ graceful: false }).then(() => this.#ownPool?.end())
    await inTime(closed, answerTimeout, 'the end of a connection').catch(ignore)
  }

  /** Fetches operations until no more can run, or none waits; looks again after a while. */
  #fetch(): void {
    if (!this.#isWorking) return
    this.#fetching ??= this.#fetchAll().finally(() => {
      this.#fetching = null
      this.#stopTimer()
      // The processes do not look all at once.
      if (this.#isWorking) this.#stopTimer = scheduleTimeout(() => this.#fetch(), randomInt(500, 1_001))
    })
  }

  async #fetchAll(): Promise<void> {
    const { queue, concurrency } = this.#settings
    while (this.#isWorking && this.#runs.size < concurrency) {
      const batchSize = concurrency - this.#runs.size
      // It returns no jobs if PostgreSQL fails.
      const jobs = await this.#boss.fetch<JobData>(queue, { batchSize, includeMetadata: true })
      for (const job of jobs) {
        const run = this.#process(job).finally(() => {
          this.#runs.delete(run)
          this.#fetch()
        })
        this.#runs.add(run)
      }
      if (jobs.length < batchSize) return
    }
  }

  /** Runs an operation, and stores what becomes of its job. If that fails, the record leads to another job. */
  async #process(job: PgBoss.JobWithMetadata<JobData>): Promise<void> {
    const { queue } = this.#settings
    const stored = jobOf(job)
    try {
      // It arrived during a pause or a close.
      const outcome: RunOutcome = this.#isWorking
        ? await runJob(this.#given, stored.id, job.retryCount >= job.retryLimit, this.#closing.signal)
        : { kind: 'released' }
      if (outcome.kind === 'released') await this.pause()
      if (outcome.kind === 'ended') await this.#boss.complete(queue, job.id, outcome)
      else if (outcome.kind === 'retry') await this.#boss.fail(queue, job.id, outcome)
      else await this.#sendAgain(stored, outcome.kind === 'later' ? outcome.delay : 0)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Adds a job; returns `false` if there is one of this id. */
  async #send({ id, name, priority, retries, backoff }: StoredJob, delay: number): Promise<boolean> {
    const sent = await this.#boss.send(
      this.#settings.queue,
      { name },
      {
        id,
        priority,
        ...(delay > 0 ? { startAfter: delay / 1_000 } : {}),
        retryLimit: retries,
        retryDelay: backoff / 1_000,
        retryBackoff: true,
        // The longest that pg-boss has. The record finds a dead run much earlier.
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

  /** Replaces a job that has ended, or is in a process that may be dead. */
  async #replaceLost(job: OperationJob): Promise<void> {
    const found = await this.#boss.getJobById(this.#settings.queue, job.id)
    if (found?.state === 'created' || found?.state === 'retry') return
    await this.#sendAgain(job, job.delay)
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
    if (this.#closing.signal.aborted) return
    this.#isAway = true
    this.#given.failed(unreachable, error)
  }
}

interface JobData {
  readonly name: string
}

type StoredJob = Pick<OperationJob, 'id' | 'name' | 'priority' | 'retries' | 'backoff'>

/** Returns what is left of a job of pg-boss. */
function jobOf(job: PgBoss.JobWithMetadata<JobData>): StoredJob {
  const { id, data, priority, retryLimit, retryCount, retryDelay } = job
  return {
    id: id.replaceAll('-', ''),
    name: data.name,
    priority,
    retries: retryLimit - retryCount,
    backoff: retryDelay * 1_000 * 2 ** retryCount,
  }
}

function newPool(url: string): pg.Pool {
  return new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: answerTimeout,
    query_timeout: answerTimeout * 2,
  })
}

const schema = 'pgboss'
const remedy = 'start once with `migrate: true`, or see PgBoss.getConstructionPlans() of pg-boss'
