export {
  type PostgresOperationStore,
  type PostgresOperationStoreOptions,
  postgresOperationStore,
} from '../plugins/operations/stores/postgres.js'
export type { OperationStore } from '../plugins/operations/stores/store.js'
export type {
  PostgresConnection,
  PostgresNotification,
  PostgresPool,
  PostgresResult,
} from './postgres-connection.js'
