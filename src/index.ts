export type { ConventionsReport } from './adapter/report.js'
export type { EarlierRoute, RegistrationOptions } from './adapter/route-watch.js'
export type { RouteRuleOptions, RuleException, RuleOptions } from './adapter/rules.js'
export { type ConventionsOptions, conventions, conventions as default } from './conventions.js'
export {
  isProblemError,
  type ProblemCode,
  ProblemError,
  type ProblemErrorOptions,
  type ProblemIssue,
  type ProblemType,
  problemTypes,
} from './errors.js'
export type { Exception, Finding, Mode, Observation } from './findings.js'
export type { PathRule } from './http/path/path-rules.js'
export type { ProblemDocument } from './http/problem.js'
export {
  type CacheDirectives,
  type CachingCounts,
  type CachingOptions,
  type CachingRouteOptions,
  type CachingRule,
  caching,
  type FindValidators,
  type ResourceVersion,
  type RouteValidators,
} from './plugins/caching.js'
export {
  type CorsOptions,
  type CorsOrigin,
  type CorsOriginFunction,
  type CorsRouteOptions,
  cors,
} from './plugins/cors.js'
export {
  type FieldSelection,
  type FieldsOptions,
  type FieldsRouteOptions,
  fields,
  type IsHidden,
} from './plugins/fields.js'
export {
  type IntegerTwinsOptions,
  type IntegerTwinsRouteOptions,
  integerTwins,
} from './plugins/integer-twins.js'
export {
  type Keyset,
  type KeysetOptions,
  keyset,
  type ListsOptions,
  type ListsRouteOptions,
  lists,
  type Page,
  type PageKey,
} from './plugins/lists.js'
export {
  type EnableOptions,
  type MaintenanceNotice,
  type MaintenanceOptions,
  type MaintenanceRouteOptions,
  type MaintenanceSource,
  type MaintenanceState,
  type MaintenanceStore,
  type MaintenanceWindow,
  maintenance,
  memoryMaintenanceStore,
  type RetryAfterFormat,
  type Schedule,
} from './plugins/maintenance.js'
export { type MethodOverrideOptions, methodOverride } from './plugins/method-override.js'
export {
  type Duration,
  type InProcessEngineOptions,
  inProcessEngine,
  type MemoryOperationStoreOptions,
  memoryOperationStore,
  type OperationContext,
  type OperationDefinition,
  type OperationEngine,
  type OperationFailure,
  type OperationHandler,
  type OperationOutcome,
  type OperationOwner,
  OperationQueueFullError,
  type OperationRecord,
  type OperationResult,
  type OperationStatus,
  type OperationStore,
  OperationStoreFullError,
  type Operations,
  type OperationsOptions,
  type OperationsRouteOptions,
  type OperationWorker,
  operations,
  type PollInterval,
  type PollsOptions,
  type Preferences,
  type RunOutcome,
  type StartOptions,
  type StatusDocument,
} from './plugins/operations.js'
export { type PathGuardOptions, type PathGuardRouteOptions, pathGuard } from './plugins/path-guard.js'
export { type ProblemsOptions, type ProblemsRouteOptions, problems } from './plugins/problems.js'
export {
  type CallerKey,
  type RateLimitOptions,
  type RateLimitRedis,
  type RateLimitRouteOptions,
  rateLimit,
} from './plugins/rate-limit.js'
export {
  type ResponseRulesOptions,
  type ResponseRulesRouteOptions,
  responseRules,
} from './plugins/response-rules.js'
export {
  type HelmetHeaders,
  type SecurityHeadersOptions,
  type SecurityHeadersProfile,
  type SecurityHeadersRouteOptions,
  securityHeaders,
} from './plugins/security-headers.js'
export {
  type Identify,
  type SelfAliasOptions,
  type SelfAliasRouteOptions,
  type SelfId,
  selfAlias,
} from './plugins/self-alias.js'
export {
  type LifecycleLinkOptions,
  type LifecycleOptions,
  type VersionRule,
  type VersionStatus,
  type VersionsOptions,
  type VersionsRouteOptions,
  versions,
} from './plugins/versions.js'
export type { KeyStyle } from './representation/rules/key-names.js'
export type { ResponseRule } from './representation/rules/response-rules.js'
export { type ConventionServerOptions, type ServerOptions, serverOptions } from './server-options.js'
