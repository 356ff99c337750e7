export {
  type PostgresIdempotencyPool,
  type PostgresIdempotencyStore,
  postgresIdempotency,
} from '../plugins/idempotency/stores/postgres.js'
export type { IdempotencyStore } from '../plugins/idempotency/stores/store.js'
export { type PostgresOperationStore, postgresOperationStore } from '../plugins/operations/stores/postgres.js'
export type { OperationStore } from '../plugins/operations/stores/store.js'
export type { PostgresPool, PostgresResult } from './postgres-client.js'
