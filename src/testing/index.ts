export type {
  IdempotencyClaim,
  IdempotencyRecord,
  IdempotencyStore,
} from '../plugins/idempotency/stores/store.js'
export type { OperationRecord } from '../plugins/operations/record.js'
export { type OperationStore, OperationStoreFullError } from '../plugins/operations/stores/store.js'
export {
  assertConventions,
  type InjectedResponse,
  type ParameterValue,
  type ProbedApp,
  type ProbeOptions,
  type ProbeReport,
  type ProbeRequest,
  type ProbeRule,
  probeConventions,
  type Verdict,
} from './assert-conventions.js'
export type { ContractClause, ContractTransaction } from './contract.js'
export { type IdempotencyStoreSetUp, idempotencyStoreContract } from './idempotency-store-contract.js'
export { type OperationStoreSetUp, operationStoreContract } from './operation-store-contract.js'
export {
  type TestIssuer,
  type TestIssuerOptions,
  type TestTokenOptions,
  testIssuer,
} from './test-issuer.js'
