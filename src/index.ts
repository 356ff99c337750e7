export type { Caller } from './convention/caller.js'
export type { EarlierRoute, RegistrationOptions } from './convention/declared-routes.js'
export type { ExplainedStep, Explanation } from './convention/explain.js'
export {
  type Answer,
  type Check,
  type ConventionDefinition,
  type ConventionRegistration,
  type ConventionRoute,
  checks,
  convention,
  type DeclaredOptions,
  type DescribedProblem,
  type Option,
  option,
  optional,
  type PayloadStep,
  type RequestStep,
  type RouteDescription,
  type RoutePlan,
  routeRuleOptions,
  ruleOptions,
  type StepEffect,
  type StepResult,
  type Steps,
} from './convention/index.js'
export {
  type BearerAlgorithm,
  type BearerKeySet,
  type BearerOptions,
  type BearerRouteOptions,
  bearer,
  type IntrospectionOptions,
} from './plugins/bearer/index.js'
export {
  type CacheDirectives,
  type CachingOptions,
  type CachingRouteOptions,
  type CachingRule,
  caching,
  type FindValidators,
  type ResourceVersion,
  type RouteValidators,
} from './plugins/caching/index.js'
export {
  type CorsOptions,
  type CorsOrigin,
  type CorsOriginFunction,
  type CorsRouteOptions,
  cors,
} from './plugins/cors/index.js'
export {
  type FieldSelection,
  type FieldsOptions,
  type FieldsRouteOptions,
  fields,
  type IsHidden,
} from './plugins/fields/index.js'
export {
  type Format,
  type FormatsOptions,
  type FormatsRouteOptions,
  formats,
} from './plugins/formats/index.js'
export { type HttpsOnlyOptions, type HttpsOnlyRouteOptions, httpsOnly } from './plugins/https-only/index.js'
export {
  type IdempotencyClaim,
  type IdempotencyOptions,
  type IdempotencyRecord,
  type IdempotencyRouteOptions,
  type IdempotencyStore,
  idempotency,
  type KeptAnswer,
  type MemoryIdempotencyOptions,
  memoryIdempotency,
  type RequestIdempotency,
} from './plugins/idempotency/index.js'
export {
  type IntegerTwinsOptions,
  type IntegerTwinsRouteOptions,
  integerTwins,
} from './plugins/integer-twins/index.js'
export {
  type Keyset,
  type KeysetOptions,
  keyset,
  type ListsOptions,
  type ListsRouteOptions,
  lists,
  type Page,
  type PageKey,
} from './plugins/lists/index.js'
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
  type RetryAfterFormat,
  type Schedule,
} from './plugins/maintenance/index.js'
export { type MethodOverrideOptions, methodOverride } from './plugins/method-override/index.js'
export {
  type Duration,
  type InProcessEngineOptions,
  type InternalStartOptions,
  inProcessEngine,
  type MemoryOperationStoreOptions,
  memoryOperationStore,
  type OperationAccess,
  type OperationContext,
  type OperationDefinition,
  type OperationEngine,
  type OperationEvent,
  type OperationEventName,
  type OperationFailure,
  type OperationHandle,
  type OperationHandler,
  type OperationJob,
  type OperationOutcome,
  type OperationOwner,
  type OperationQuery,
  OperationQueueFullError,
  type OperationRecord,
  type OperationResult,
  type OperationRetry,
  type OperationStatus,
  type OperationStore,
  OperationStoreFullError,
  type Operations,
  type OperationsOptions,
  type OperationsRouteOptions,
  type OperationWorker,
  operationChannel,
  operations,
  type Preferences,
  type RunOptions,
  type RunOutcome,
  type StartOptions,
  type StatusDocument,
} from './plugins/operations/index.js'
export { type PathGuardOptions, type PathGuardRouteOptions, pathGuard } from './plugins/path-guard/index.js'
export type { PathRule } from './plugins/path-guard/path-rules.js'
export { type ProblemsOptions, type ProblemsRouteOptions, problems } from './plugins/problems/index.js'
export {
  type CallerKey,
  type NamedQuotaOptions,
  type RateLimitMax,
  type RateLimitOptions,
  type RateLimitRedis,
  type RateLimitRouteOptions,
  rateLimit,
} from './plugins/rate-limit/index.js'
export {
  type ResponseRulesOptions,
  type ResponseRulesRouteOptions,
  responseRules,
} from './plugins/response-rules/index.js'
export type { ResponseRule } from './plugins/response-rules/options.js'
export {
  type HelmetHeaders,
  type SecurityHeadersOptions,
  type SecurityHeadersProfile,
  type SecurityHeadersRouteOptions,
  securityHeaders,
} from './plugins/security-headers/index.js'
export {
  type Identify,
  type SelfAliasOptions,
  type SelfAliasRouteOptions,
  type SelfId,
  selfAlias,
} from './plugins/self-alias/index.js'
export {
  type LifecycleLinkOptions,
  type LifecycleOptions,
  type VersionRule,
  type VersionsOptions,
  type VersionsRouteOptions,
  versions,
} from './plugins/versions/index.js'
export { type XsrfOptions, type XsrfRouteOptions, xsrf } from './plugins/xsrf/index.js'
export {
  type ConventionName,
  type ConventionsException,
  type ConventionsOptions,
  conventions,
  conventions as default,
  type IdentifyCaller,
} from './preset.js'
export {
  isProblemError,
  type ProblemCode,
  type ProblemDocument,
  ProblemError,
  type ProblemErrorOptions,
  type ProblemIssue,
  type ProblemType,
  problemTypes,
} from './problem/problem-error.js'
export type { ConventionsReport, Effect, Exception, Finding, Observation } from './report/findings.js'
export { formatReport, type ReportFormat } from './report/format-report.js'
export type { Mode, RouteRuleOptions, RuleException, RuleOptions } from './report/modes.js'
export { conventionsReport } from './report/report.js'
export type { SchemaDirection, ToJsonSchema } from './schema/provider-schema.js'
export { type ConventionServerOptions, type ServerOptions, serverOptions } from './server-options.js'
export type { KeyStyle } from './words/words.js'
