export type { BullmqEngineOptions } from '../plugins/operations/engines/bullmq/connection.js'
export { bullmqEngine } from '../plugins/operations/engines/bullmq/engine.js'
export {
  type OperationEngine,
  type OperationJob,
  OperationQueueFullError,
  type OperationWorker,
  type RunOutcome,
} from '../plugins/operations/engines/engine.js'
