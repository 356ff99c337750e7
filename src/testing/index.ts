export type { OperationRecord } from '../plugins/operations/record.js'
export { type OperationStore, OperationStoreFullError } from '../plugins/operations/stores/store.js'
export {
  type ContractClause,
  type ContractTransaction,
  type OperationStoreSetUp,
  operationStoreContract,
} from './operation-store-contract.js'
