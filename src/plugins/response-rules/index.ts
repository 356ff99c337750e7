import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyle } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import type { Effect } from '../../convention/steps.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { kept } from '../../kept.js'
import { listOf, type OptionsOf, oneOf, option, text } from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleOptions, ruleOptions } from '../../report/modes.js'
import { type Json, schemaText } from '../../schema/json-schema.js'
import { clip, counted } from '../../text.js'
import {
  type ResponseBreach,
  routeBreaches,
  type SchemaVerdict,
  type SuccessSchemas,
  schemaBreaches,
  successSchemas,
} from './breaches.js'
import { payloadBreaches } from './payload.js'
import { defaultUnixTimes, type ResponseRule, type ResponseVocabulary, responseRuleNames } from './words.js'

const timeName = text(
  "a name such as 'date', or an ending such as '_at'",
  /^(_[a-z0-9]+(_[a-z0-9]+)*|[A-Za-z]\w*)$/,
)

const ownOptions = {
  /**
   * The style of all keys in the API.
   * @default 'snake_case'
   */
  keyStyle: option(oneOf('snake_case', 'camelCase'), 'snake_case'),
  /**
   * Names, or last words of names, that the rules accept as they are: lists with a singular name (`embedding`), and names
   * that only look like times (`half_time`).
   * @default []
   */
  words: option(listOf(text()), []),
  /**
   * Names of integers that are Unix times, in either key style. One that begins with `_` matches all names with that ending:
   * with `_ts`, an integer `created_at_ts` is allowed.
   * @default ['_unix', '_ts']
   */
  unixTimes: option(listOf(timeName), defaultUnixTimes),
}

const responseRulesOptions = { ...ruleOptions(responseRuleNames), ...ownOptions }

const responseRulesRouteOptions = routeRuleOptions(responseRuleNames)

/** Options of {@link responseRules}. */
export interface ResponseRulesOptions extends RuleOptions<ResponseRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.responseRules`; `false` turns the rules off for it. */
export type ResponseRulesRouteOptions = RouteRuleOptions<ResponseRule>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of {@link responseRules} for this route; `false` turns it off. */
    responseRules?: ResponseRulesRouteOptions | false
  }
}

/**
 * Keeps responses to the conventions: an object at the top level, no envelope, one key style, lists under plural names,
 * `sex` and `gender` not mixed up, date-times as RFC 3339, no content of a DELETE.
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
export const responseRules: FastifyPluginAsync<ResponseRulesOptions & RegistrationOptions> = convention({
  name: 'responseRules',
  rules: responseRuleNames,
  options: responseRulesOptions,
  routeOptions: responseRulesRouteOptions,
  setUp({ app, options, note }) {
    const vocabulary = { ...options, words: new Set(options.words) }
    keyStyle.set(app, options.keyStyle)
    const state = { vocabulary, verdictOf: verdictsOf(vocabulary), unchecked: 0 }
    note(() => {
      const routes = counted(state.unchecked, 'route has', 'routes have')
      return state.unchecked === 0 ? '' : `responseRules: ${routes} no response schema`
    })
    return state
  },
  route({ app, route, methods, modeOf, exclusionReason, state, atReady, addFinding, exclude }) {
    if (route === null) return undefined
    if (exclusionReason !== null) {
      exclude(exclusionReason)
      return undefined
    }
    const schemas = () => successSchemas(jsonSchemasOf(route)?.response)
    const isWatched = !hasSome(schemas()) && rulesOfPayloads.some((rule) => modeOf[rule] !== 'off')
    const isDeletion = methods.every((method) => method === 'DELETE')
    let left = samples

    function judgePayload(_request: FastifyRequest, reply: FastifyReply, payload: unknown) {
      const isJudged = left > 0 && reply.statusCode >= 200 && reply.statusCode < 300
      if (!isJudged || !isJson(mediaTypeOf(String(reply.getHeader('content-type') ?? '')))) return undefined
      left -= 1
      const breaches = payloadBreaches(payload, state.vocabulary)
      if (isDeletion) breaches.push(...contentOf([`${reply.statusCode}`]))
      return breaches.map(({ rule, problem, instead }): Effect => {
        const given = clip(`${rule}: ${problem}; write ${instead}`, maxShown)
        return { rule, given, notice: 'each route' }
      })
    }

    // Shared schemas, and changes by other plugins, are complete when the app gets ready.
    atReady(function checkSchemas() {
      const found = schemas()
      const { judged, excluded } = found
      if (hasSome(found)) left = 0
      const { breaches, unresolved } = routeBreaches(judged, (schema) => state.verdictOf(app, schema))
      for (const reason of [...excluded, ...unresolved]) exclude(reason)
      const contents = isDeletion ? contentOf(judged.map(({ status }) => status)) : []
      for (const { rule, problem, instead } of [...breaches, ...contents]) addFinding(rule, problem, instead)
      if (declaresSuccess(route) || responseRuleNames.every((rule) => modeOf[rule] === 'off')) return
      state.unchecked++
      exclude('no response schema: only its first payloads are checked')
    })
    return isWatched ? { preSerialization: judgePayload } : undefined
  },
})

/** The breach of a DELETE whose responses have content. A 202 describes work that goes on, and `default` may be an error. */
function contentOf(statuses: readonly string[]): ResponseBreach[] {
  const others = new Set(statuses.filter((status) => status !== '202' && status !== 'default'))
  if (others.size === 0) return []
  const problem = `${[...others].join(', ')}: a DELETE returns no data`
  return [{ rule: 'delete', problem, instead: '204, without content' }]
}

const rulesOfPayloads = ['object', 'envelope', 'keys', 'plural', 'dates', 'delete'] as const
const maxShown = 300
// Payloads to check for each route.
const samples = 20

/** Judges schemas when the app gets ready: in one context, equal schemas mean the same. */
function verdictsOf(vocabulary: ResponseVocabulary) {
  const verdicts = new WeakMap<FastifyInstance, Map<string, SchemaVerdict>>()
  return function verdictOf(app: FastifyInstance, schema: Json): SchemaVerdict {
    const judge = () => schemaBreaches(schema, app.getSchemas(), vocabulary)
    const text = schemaText(schema)
    const ofApp = kept(verdicts, app, () => new Map<string, SchemaVerdict>())
    return text === null ? judge() : kept(ofApp, text, judge)
  }
}

function hasSome({ judged, excluded }: SuccessSchemas): boolean {
  return judged.length + excluded.length > 0
}

/** Whether a route says something of its answers of success: a body, or a status without one. */
function declaresSuccess(route: RouteOptions): boolean {
  const response = jsonSchemasOf(route)?.response
  const statuses = typeof response === 'object' && response !== null ? Object.keys(response) : []
  return statuses.some((status) => /^(?:[23]|default)/i.test(status))
}
