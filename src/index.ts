export type { Caller } from './convention/caller.js'
export type { EarlierRoute, RegistrationOptions } from './convention/declared-routes.js'
export type { ExplainedStep, Explanation } from './convention/explain.js'
export * from './convention/index.js'
export * from './plugins/bearer/index.js'
export * from './plugins/caching/index.js'
export * from './plugins/cors/index.js'
export * from './plugins/fields/index.js'
export * from './plugins/formats/index.js'
export * from './plugins/https-only/index.js'
export * from './plugins/idempotency/index.js'
export * from './plugins/integer-twins/index.js'
export * from './plugins/lists/index.js'
export * from './plugins/maintenance/index.js'
export * from './plugins/method-override/index.js'
export * from './plugins/operations/index.js'
export * from './plugins/path-guard/index.js'
export type { PathRule } from './plugins/path-guard/path-rules.js'
export * from './plugins/problems/index.js'
export * from './plugins/rate-limit/index.js'
export * from './plugins/response-rules/index.js'
export type { ResponseRule } from './plugins/response-rules/words.js'
export * from './plugins/security-headers/index.js'
export * from './plugins/self-alias/index.js'
export * from './plugins/versions/index.js'
export * from './plugins/xsrf/index.js'
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
