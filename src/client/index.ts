export { type FollowOptions, followOperation, type Operation } from './follow-operation.js'
export {
  type CancelLink,
  type FailedOperation,
  type OperationEnd,
  OperationError,
  type OperationErrorCode,
  type OperationState,
  type Problem,
  type RunningOperation,
  type SucceededOperation,
} from './operation-state.js'
export { type RequestSettings, type Sleep, type WaitOptions, whenReady } from './polling.js'
