import { randomInt } from 'node:crypto'
import pg from 'pg'
import type { JobWithMetadata } from 'pg-boss'
import * as pgBoss from 'pg-boss'
import {
  flag,
  isObject,
  type OptionsOf,
  option,
  type ResolvedOptions,
  resolveOptions,
  text,
} from '../../../options.js'
import { withRetries } from '../../../stores/postgres-client.js'
import { inTime, scheduleTimeout } from '../../../time/async.js'
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
  type SharedQueue,
  serverOf,
  sharedEngine,
  unreachable,
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
   * Name of the queue; engines with the same name, in the same database, share the work, so each service needs its own.
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
 * [pg-boss](https://github.com/timgit/pg-boss) 10.4 to 12, which has to be installed, with `pg` and PostgreSQL 13 or later. It
 * works behind PgBouncer in transaction mode.
 *
 * The operations of a killed process run again after `lease`. Processes look for operations of others about once a second. While
 * PostgreSQL does not answer, a start fails within five seconds, and a close waits no longer for it either. An app that boots
 * waits up to nine seconds for other processes that create the queue.
 *
 * Not for a service of one process: the engine in the process needs no queue. With Redis, the engine on BullMQ looks for
 * nothing at intervals.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function pgBossEngine(options: PgBossEngineOptions): OperationEngine {
  const { postgres, ...others } = options ?? {}
  const settings: Settings = {
    ...resolveOptions('pgBossEngine', others, declared),
    postgres: server('pgBossEngine.postgres', postgres),
  }
  return sharedEngine(settings.work, false, (worker) => bossQueue(settings, worker))
}

/**
 * A queue of pg-boss. Jobs are fetched here, because `work()` of pg-boss 10 does not await how it completes a job: without
 * PostgreSQL, that is an unhandled rejection, which ends the process.
 */
function bossQueue(settings: Settings, given: OperationWorker): SharedQueue {
  const { postgres, migrate, queue, maxQueued, concurrency } = settings
  const ownPool = typeof postgres === 'string' ? newPool(postgres) : null
  const pool = ownPool ?? (postgres as PgBossPool)
  ownPool?.on('error', failed)
  const executeSql = (text: string, values: unknown[]) => report(queried(text, values))
  const boss = new PgBoss({ db: { executeSql }, schema, migrate, supervise: settings.work, schedule: false })
  boss.on('error', failed)
  const limit = queueLimit(maxQueued, async () => {
    const [row] = (await executeSql(countStatement, [queue])).rows as readonly { readonly count: unknown }[]
    return Number(row?.count)
  })
  const runs = new Set<Promise<void>>()
  const closing = new AbortController()
  let isWorking = false
  let longestWait = openTimeout
  // Whether PostgreSQL failed the last time.
  let isAway = false
  let fetching: Promise<void> | null = null
  let stopTimer = () => {}

  /** Asks again if another process has created the schema meanwhile: `CREATE SCHEMA IF NOT EXISTS` may fail then. */
  async function queried(text: string, values: unknown[]) {
    try {
      return await pool.query(text, values)
    } catch (error) {
      if (!isObject(error) || error.constraint !== 'pg_namespace_nspname_index') throw error
      return pool.query(text, values)
    }
  }

  async function report<Result>(asked: Promise<Result>): Promise<Result> {
    try {
      const result = await inTime(asked, longestWait, 'an answer of PostgreSQL')
      if (isAway) given.recovered()
      isAway = false
      return result
    } catch (error) {
      failed(error)
      throw error
    }
  }

  function failed(error: unknown): void {
    if (closing.signal.aborted) return
    isAway = true
    given.failed(unreachable, error)
  }

  function stopWorking(): void {
    isWorking = false
    stopTimer()
  }

  /** Fetches operations until no more can run, or none waits; looks again after a while. */
  function look(): void {
    if (!isWorking) return
    fetching ??= fetchAll().finally(() => {
      fetching = null
      stopTimer()
      // The processes do not look all at once.
      if (isWorking) stopTimer = scheduleTimeout(look, randomInt(500, 1_001))
    })
  }

  async function fetchAll(): Promise<void> {
    while (isWorking && runs.size < concurrency) {
      const batchSize = concurrency - runs.size
      // If PostgreSQL fails, pg-boss 10 returns no jobs, and later releases reject.
      const jobs = await boss.fetch<JobData>(queue, { batchSize, includeMetadata: true }).catch(() => [])
      for (const job of jobs) {
        const run = runStored(job).finally(() => {
          runs.delete(run)
          look()
        })
        runs.add(run)
      }
      if (jobs.length < batchSize) return
    }
  }

  /** Runs an operation, and stores what becomes of its job. If that fails, the record leads to another job. */
  async function runStored(job: JobWithMetadata<JobData>): Promise<void> {
    const left = jobOf(job)
    try {
      // It arrived during a pause or a close.
      const outcome: RunOutcome = isWorking
        ? await runJob(given, left.id, job.retryCount >= job.retryLimit, closing.signal)
        : { kind: 'released' }
      if (outcome.kind === 'released') stopWorking()
      if (outcome.kind === 'ended') await boss.complete(queue, job.id, outcome)
      else if (outcome.kind === 'retry') await boss.fail(queue, job.id, outcome)
      else await sendAgain(left, outcome.kind === 'later' ? outcome.delay : 0)
    } catch (error) {
      failed(error)
    }
  }

  /** Adds a job; returns `null` if there is one of this id. */
  function send({ id, name, priority, retries, backoff }: StoredJob, delay: number): Promise<string | null> {
    const options = {
      id,
      priority,
      ...(delay > 0 && { startAfter: delay / 1_000 }),
      retryLimit: retries,
      retryDelay: backoff / 1_000,
      retryBackoff: true,
      // The longest that pg-boss has. The record finds a dead run much earlier.
      expireInSeconds: 23 * 60 * 60,
      retentionSeconds: 365 * 24 * 60 * 60,
    }
    return boss.send(queue, { name }, options)
  }

  async function sendAgain(job: StoredJob, delay: number): Promise<void> {
    await boss.deleteJob(queue, job.id)
    await send(job, delay)
  }

  return {
    async open() {
      try {
        await boss.start()
        // Of processes that create it at once, PostgreSQL may end one by a deadlock.
        if (migrate) await withRetries(() => boss.createQueue(queue))
      } catch (error) {
        if (!(error instanceof Error) || !/pg-boss/.test(error.message)) throw error
        throw new Error(`${error.message} in the PostgreSQL schema '${schema}': ${remedy}`, { cause: error })
      }
      if ((await boss.getQueue(queue)) === null) {
        throw new Error(`there is no queue '${queue}' of pg-boss in the schema '${schema}': ${remedy}`)
      }
      longestWait = answerTimeout
    },
    work() {
      isWorking = true
      look()
    },
    pause: async () => stopWorking(),
    async add(job) {
      await limit()
      if ((await send(job, job.delay)) === null && job.isNew !== true) {
        const found = await boss.getJobById(queue, job.id)
        // In any other state it has ended, or runs in a process that may be dead.
        if (found?.state !== 'created' && found?.state !== 'retry') await sendAgain(job, job.delay)
      }
      // A delayed one is found by the interval.
      if (job.delay <= 0) look()
    },
    async close() {
      stopWorking()
      closing.abort()
      await fetching
      while (runs.size > 0) await Promise.all(runs)
      const closed = boss.stop({ graceful: false }).then(() => ownPool?.end())
      await inTime(closed, answerTimeout, 'the end of a connection').catch(ignore)
    },
  }
}

interface JobData {
  readonly name: string
}

type StoredJob = Pick<OperationJob, 'id' | 'name' | 'priority' | 'retries' | 'backoff'>

/** Returns what is left of a job of pg-boss. */
function jobOf(job: JobWithMetadata<JobData>): StoredJob {
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

// pg-boss 10 and 11 export the class alone, and pg-boss 12 by its name.
const { PgBoss = pgBoss.default } = pgBoss as { readonly PgBoss?: typeof pgBoss.default }

const schema = 'pgboss'
// pg-boss 11 has no method for this.
const countStatement = `SELECT count(*) FROM ${schema}.job WHERE name = $1 AND state < 'active'`
// What creates the schema and the queue waits for other processes that create them. Fastify gives a plugin ten seconds.
const openTimeout = 9_000
const remedy = 'start once with `migrate: true`, or see getConstructionPlans() of pg-boss'
