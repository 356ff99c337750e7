export { followOperation, type Operation } from './follow-operation.js'
export { OperationError, type OperationErrorCode, type Problem } from './operation-error.js'
export type {
  CancelLink,
  FailedOperation,
  OperationEnd,
  OperationState,
  RunningOperation,
  SucceededOperation,
} from './operation-state.js'
export type { FollowOptions, RequestSettings, WaitOptions } from './options.js'
export type { Sleep } from './sleep.js'
export { whenReady } from './when-ready.js'
