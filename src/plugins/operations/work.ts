import type { OperationRecord } from './record.js'
import type { OperationEnd } from './transitions.js'

/** What the work of an operation is given. */
export interface WorkContext {
  readonly record: OperationRecord
  readonly signal: AbortSignal
  readonly progress: (progress: number) => void
}

/** Work of one name. */
export interface OperationWork {
  /** Runs that are begun at most, the first included. */
  readonly maxRuns: number
  /** Milliseconds that a run has. */
  readonly timeout: number
  /** Does it; what it throws becomes the failure. */
  readonly run: (context: WorkContext) => Promise<OperationEnd>
}
