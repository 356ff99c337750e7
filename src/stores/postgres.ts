export type { OperationStore } from './operation-store.js'
export type {
  PostgresConnection,
  PostgresNotification,
  PostgresPool,
  PostgresResult,
} from './postgres-connection.js'
export {
  type PostgresOperationStore,
  type PostgresOperationStoreOptions,
  postgresOperationStore,
} from './postgres-operation-store.js'
