export type { OperationRecord } from '../operations/operation-record.js'
export { type OperationStore, OperationStoreFullError } from '../stores/operation-store.js'
export {
  type ContractClause,
  type OperationStoreSetUp,
  operationStoreContract,
} from './operation-store-contract.js'
