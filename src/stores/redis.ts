export type { MaintenanceNotice } from '../http/maintenance/notice.js'
export type { MaintenanceStore } from './maintenance-store.js'
export type { OperationStore } from './operation-store.js'
export {
  type RedisMaintenanceClient,
  type RedisMaintenanceStoreOptions,
  redisMaintenanceStore,
} from './redis-maintenance-store.js'
export {
  type RedisOperationClient,
  type RedisOperationStoreOptions,
  redisOperationStore,
} from './redis-operation-store.js'
export type { RedisScriptClient } from './redis-script.js'
export type { RedisSubscriber } from './redis-subscription.js'
