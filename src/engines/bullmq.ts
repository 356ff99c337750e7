export type {
  BullmqEngineOptions,
  BullmqOnPostgresOptions,
  BullmqOnRedisOptions,
  BullmqQueueOptions,
  PostgresAddress,
  PostgresPool,
} from '../operations/bullmq/bullmq-options.js'
export { bullmqEngine } from '../operations/bullmq-engine.js'
export {
  type OperationEngine,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from '../operations/operation-engine.js'
