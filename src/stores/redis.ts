export {
  type RedisIdempotencyClient,
  redisIdempotency,
} from '../plugins/idempotency/stores/redis.js'
export type { IdempotencyStore } from '../plugins/idempotency/stores/store.js'
export type { MaintenanceNotice, MaintenanceStore } from '../plugins/maintenance/notice.js'
export {
  type RedisMaintenanceClient,
  redisMaintenanceStore,
} from '../plugins/maintenance/stores/redis.js'
export {
  type RedisOperationClient,
  type RedisOperationStoreOptions,
  redisOperationStore,
} from '../plugins/operations/stores/redis.js'
export type { OperationStore } from '../plugins/operations/stores/store.js'
export type { RedisInfoClient, RedisScriptClient } from './redis-client.js'
