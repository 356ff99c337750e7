export { bullmqEngine } from '../plugins/operations/engines/bullmq/engine.js'
export type {
  BullmqEngineOptions,
  BullmqOnPostgresOptions,
  BullmqOnRedisOptions,
  BullmqPostgresPool,
  BullmqQueueOptions,
  PostgresAddress,
} from '../plugins/operations/engines/bullmq/options.js'
export {
  type OperationEngine,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from '../plugins/operations/engines/engine.js'
