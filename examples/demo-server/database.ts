/** What a column holds, on both backends: int8 is a bigint, a timestamptz an RFC 3339 string in UTC. */
export type SqlValue = string | number | bigint | boolean | null

/** One row; jsonb columns hold what they parse to. */
export type Row = Record<string, SqlValue | object>

/** A statement and the values of its `$1`, `$2`, …; jsonb is passed as its text. */
export interface Statement {
  readonly text: string
  readonly values?: readonly SqlValue[]
}

/** Something that runs statements. */
export interface Queries {
  query(statement: Statement): Promise<Row[]>
}

/** How a transaction is run. */
export interface TransactionOptions {
  /**
   * Whether its statements may take as long as they need, as those of a migration. No request waits that long.
   * @default false
   */
  readonly mayTakeLong?: boolean
}

/** A PostgreSQL database, embedded or on a server. A breach of a constraint rejects with a {@link ConstraintViolation}. */
export interface Database extends Queries {
  /** Commits what `work` did when it resolves, and undoes it when it rejects. */
  transaction<T>(work: (queries: Queries) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Waits for what is running, then lets go of the database. */
  close(): Promise<void>
}

/** A write that a constraint of the database refused. */
export class ConstraintViolation extends Error {
  override readonly name = 'ConstraintViolation'
  readonly kind: 'unique' | 'reference' | 'check'
  /** Name of the constraint, or of the unique index. */
  readonly constraint: string
  /** The table that has the constraint. */
  readonly table: string

  constructor(kind: ConstraintViolation['kind'], constraint: string, table: string, cause: unknown) {
    super(`${table}: ${kind} constraint ${constraint} refused the write`, { cause })
    this.kind = kind
    this.constraint = constraint
    this.table = table
  }
}

// PostgreSQL, appendix A: class 23.
const kindOfState: ReadonlyMap<unknown, ConstraintViolation['kind']> = new Map([
  ['23503', 'reference'],
  ['23505', 'unique'],
  ['23514', 'check'],
])

/** The error of a driver as this module tells it; what is not a breach of a constraint comes back as it is. */
export function translated(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown }
  const kind = kindOfState.get(code)
  return kind === undefined ? error : new ConstraintViolation(kind, String(constraint), String(table), error)
}
