import type { FastifyInstance, RouteOptions } from 'fastify'
import { declareKeyStyle } from '../../fastify/key-style.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { rememberLast } from '../../fastify/remember-last.js'
import { addHook } from '../../fastify/route.js'
import { jsonSchemasOf } from '../../fastify/route-schemas.js'
import { type Json, schemaText } from '../../json-schema/json-schema.js'
import { resolveOptions } from '../../options.js'
import { type Reporter, reporterOf } from '../../rules/report.js'
import { type RuledRoute, ruledRoutes } from '../../rules/ruled-routes.js'
import { counted } from '../../text.js'
import { type KeyStyle, prevailingOtherStyle } from '../../words/key-names.js'
import { watchPayloads } from './hooks.js'
import {
  type ResponseRulesOptions,
  type ResponseRulesRouteOptions,
  responseRulesChecks,
  responseRulesDefaults,
  responseRulesRouteChecks,
  vocabularyOf,
} from './options.js'
import { type ResponseRule, type ResponseVocabulary, responseRuleNames } from './response-rules.js'
import { routeBreaches, successSchemas, withCommonStyle } from './route-breaches.js'
import { type SchemaVerdict, schemaBreaches } from './schema-breaches.js'

export type { ResponseRulesOptions, ResponseRulesRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link responseRules} for this route; `false` turns it off. */
    responseRules?: ResponseRulesRouteOptions | false
  }
}

/**
 * Keeps responses to the conventions: an object at the top level, no envelope, one key style, lists under plural names,
 * `sex` and `gender` not mixed up, date-times as RFC 3339.
 *
 * When the app gets ready, the 2xx response schemas of every route registered after this plugin are checked; all breaches
 * are thrown as one table. If a route has no response schema, its first payloads are checked instead: one that breaks a
 * rule is counted and logged, and sent as it is, because the work of the handler is done by then. The log of the boot and
 * the report say which routes have none.
 *
 * Not for an API in a standard format of its own, such as JSON:API, GeoJSON or SCIM: declare exceptions for its routes.
 * Routes that do not send JSON, wildcard routes, WebSocket routes, routes hidden from the OpenAPI document
 * (`schema.hide`) and routes with schemas of another validator are not checked; the report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const responseRules = conventionPlugin<ResponseRulesOptions>(
  'responseRules',
  function setUpResponseRules(app, received) {
    const options = resolveOptions('responseRules', received, responseRulesChecks, responseRulesDefaults)
    const reporter = reporterOf(app)
    const vocabulary = vocabularyOf(options)
    declareKeyStyle(app, options.keyStyle)
    const readRoute = ruledRoutes({
      plugin: 'responseRules',
      rules: responseRuleNames,
      options,
      routeChecks: responseRulesRouteChecks,
      app,
    })

    const verdictOf = verdictsOf(vocabulary)
    // The names in the schemas of each route.
    const checked: (() => readonly string[])[] = []
    let style: KeyStyle | null | undefined
    function styleOfAll(): KeyStyle | null {
      style ??= prevailingOtherStyle(new Set(checked.splice(0).flatMap((names) => names())), options.keyStyle)
      return style
    }

    const lacks = rememberLast(lacksSchemas)
    let unchecked = 0

    app.addHook('onRoute', function checkResponses(route) {
      const ruled = readRoute(route)
      const { modeOf } = ruled
      const watch =
        ruled.exclusionReason === null && lacks(jsonSchemasOf(route)?.response)
          ? watchPayloads({ modeOf, vocabulary, reporter })
          : null
      if (watch !== null) addHook(route, 'preSerialization', 'responseRules', watch.hook)
      if (watch === null && ruled.isHeadSibling) return

      if (ruled.exclusionReason === null) {
        checked.push(() =>
          successSchemas(jsonSchemasOf(route)?.response).judged.flatMap(({ schema }) => [
            ...verdictOf(this, schema).names,
          ]),
        )
      }
      // Shared schemas, and changes by other plugins, are complete when the app gets ready.
      reporter.checkAtReady(() => {
        if (watch !== null && !lacksSchemas(jsonSchemasOf(route)?.response)) watch.stop()
        if (!ruled.isHeadSibling) checkSchemas(route, ruled, this, verdictOf, styleOfAll, reporter)
        if (!ruled.isHeadSibling && ruled.exclusionReason === null && isUndeclared(route, modeOf)) {
          unchecked++
          reporter.addException({
            plugin: 'responseRules',
            route: ruled.name,
            rules: responseRuleNames,
            reason: 'no response schema: only its first payloads are checked',
            declared: false,
            unused: false,
          })
        }
      })
    })
    reporter.afterChecks(() => {
      if (unchecked > 0)
        reporter.note(
          `responseRules: ${counted(unchecked, 'route has no response schema and was', 'routes have no response schema and were')} not checked`,
        )
    })
  },
)

type CheckedRoute = RuledRoute<ResponseRule, ResponseRulesRouteOptions>

type VerdictOf = (app: FastifyInstance, schema: Json) => SchemaVerdict

/** Judges schemas when the app gets ready: in one context, equal schemas mean the same. */
function verdictsOf(vocabulary: ResponseVocabulary): VerdictOf {
  const verdicts = new WeakMap<FastifyInstance, Map<string, SchemaVerdict>>()
  return function verdictOf(app, schema) {
    const ofApp = verdicts.get(app) ?? new Map<string, SchemaVerdict>()
    verdicts.set(app, ofApp)
    const text = schemaText(schema)
    const known = text === null ? undefined : ofApp.get(text)
    if (known !== undefined) return known
    const verdict = schemaBreaches(schema, app.getSchemas(), vocabulary)
    if (text !== null) ofApp.set(text, verdict)
    return verdict
  }
}

/** Whether a route has no response schema of success, so that only its payloads can be checked. */
function lacksSchemas(response: unknown): boolean {
  const { judged, excluded } = successSchemas(response)
  return judged.length === 0 && excluded.length === 0
}

/** Whether a route says nothing of its answers of success: neither a body nor a status without one. */
function isUndeclared(route: RouteOptions, modeOf: CheckedRoute['modeOf']): boolean {
  const response = jsonSchemasOf(route)?.response
  const statuses = typeof response === 'object' && response !== null ? Object.keys(response) : []
  if (statuses.some((status) => /^(?:[23]|default)/i.test(status))) return false
  return Object.values(modeOf).some((mode) => mode !== 'off')
}

function checkSchemas(
  route: RouteOptions,
  { name, own, modeOf, exclusionReason, addExceptions }: CheckedRoute,
  app: FastifyInstance,
  verdictOf: VerdictOf,
  styleOfAll: () => KeyStyle | null,
  reporter: Reporter,
): void {
  const exception = { plugin: 'responseRules', route: name }
  const declared = own === false
  const exclude = (reason: string): void =>
    reporter.addException({ ...exception, rules: responseRuleNames, reason, declared, unused: false })
  if (exclusionReason !== null) {
    exclude(exclusionReason)
    return
  }
  const { judged, excluded } = successSchemas(jsonSchemasOf(route)?.response)
  for (const reason of excluded) exclude(reason)
  const { breaches, unresolved } = routeBreaches(judged, (schema) => verdictOf(app, schema))
  for (const reason of unresolved) exclude(reason)
  const kept = breaches.filter(({ rule }) => modeOf[rule] !== 'off')
  for (const { rule, problem, instead } of withCommonStyle(kept, styleOfAll)) {
    const mode = modeOf[rule]
    if (mode !== 'off') reporter.addFinding({ ...exception, mode, rule, problem, instead })
  }
  // The breaches of payloads are not known at boot.
  addExceptions(judged.length > 0 ? new Set(breaches.map(({ rule }) => rule)) : null)
}
