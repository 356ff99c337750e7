export type {
  BullmqEngineOptions,
  BullmqOnPostgresOptions,
  BullmqOnRedisOptions,
  BullmqPostgresPool,
  BullmqQueueOptions,
  PostgresAddress,
} from '../operations/bullmq/bullmq-options.js'
export { bullmqEngine } from '../operations/bullmq-engine.js'
export {
  type OperationEngine,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from '../operations/operation-engine.js'
