import {
  type Check,
  type Checks,
  flag,
  integer,
  invalid,
  isObject,
  resolveOptions,
  text,
} from '../../../../options.js'

/** A pool of [pg](https://node-postgres.com). */
export interface PgBossPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** Options of {@link pgBossEngine}. */
export interface PgBossEngineOptions {
  /** A URL, or a pool of [pg](https://node-postgres.com), which stays open when the engine closes. */
  readonly postgres: string | PgBossPool
  /**
   * Name of the queue; engines with the same name, in the same database, share the work.
   * @default 'operations'
   */
  readonly queue?: string
  /**
   * Whether to create or update the schema of pg-boss, and the queue, at the start; the account needs the right to create
   * them. If not, and they are missing or old, the start fails with an error that says what to do.
   * @default false
   */
  readonly migrate?: boolean
  /**
   * Whether this process runs operations. If not, it only adds them to the queue, and another process has to run them.
   * @default true
   */
  readonly work?: boolean
  /**
   * Maximum number of operations that this process runs at the same time.
   * @default 10
   */
  readonly concurrency?: number
  /**
   * Milliseconds between two looks for operations of other processes, while there is nothing to run.
   * @default 1_000
   */
  readonly interval?: number
  /**
   * Maximum number of waiting operations of all processes; a start beyond it gets a 503. They are counted every ten seconds
   * at most, so several processes can exceed it by the operations that they start within that time.
   * @default 100_000
   */
  readonly maxQueued?: number
}

/** Options of {@link pgBossEngine}, checked, with their defaults. */
export type PgBossSettings = Required<PgBossEngineOptions>

/** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function resolvePgBossOptions(options: PgBossEngineOptions): PgBossSettings {
  const settings = resolveOptions(label, options, checks, {
    postgres: options?.postgres,
    queue: 'operations',
    migrate: false,
    work: true,
    concurrency: 10,
    interval: 1_000,
    maxQueued: 100_000,
  })
  postgres(`${label}.postgres`, settings.postgres)
  return settings
}

const label = 'pgBossEngine'

const postgres: Check<PgBossSettings['postgres']> = (label, received) => {
  if (isObject(received) && typeof received.query === 'function') return received as unknown as PgBossPool
  if (typeof received === 'string' && /^postgres(ql)?:\/\//.test(received)) return received
  // It may hold a password.
  const shown = typeof received === 'string' ? received.replace(/\/\/.*@/, '//…@') : received
  return invalid(label, 'a postgres:// URL, or a pool of pg', shown)
}

const checks: Checks<PgBossEngineOptions> = {
  postgres,
  queue: text('a name of letters, digits, hyphens, dots and underscores', /^[\w.-]+$/),
  migrate: flag,
  work: flag,
  concurrency: integer(1, 10_000),
  interval: integer(100, 60_000),
  maxQueued: integer(1),
}
