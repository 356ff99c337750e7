export {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from '../plugins/operations/engines/engine.js'
export type { PgBossEngineOptions, PgBossPool } from '../plugins/operations/engines/pg-boss/engine.js'
export { pgBossEngine } from '../plugins/operations/engines/pg-boss/engine.js'
