import type { FastifyInstance, RouteOptions } from 'fastify'
import { declareKeyStyle } from '../../fastify/key-style.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { rememberLast } from '../../fastify/remember-last.js'
import { addHook } from '../../fastify/route.js'
import { isJson } from '../../http/media-types.js'
import { type Checks, integer, listOf, oneOf, resolveOptions, text } from '../../options.js'
import { problemMediaType } from '../../problem/problem-document.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleChecks, ruleChecks } from '../../rules/modes.js'
import { type Reporter, reporterOf } from '../../rules/report.js'
import { type RuledRoute, ruledRoutes } from '../../rules/ruled-routes.js'
import type { KeyStyle } from '../../words/key-names.js'
import { watchPayloads } from './payload-watch.js'
import {
  type ResponseBreach,
  type ResponseRule,
  type ResponseVocabulary,
  responseRuleNames,
} from './response-rules.js'
import { schemaBreaches } from './schema-breaches.js'
import { type SuccessSchemas, successSchemas } from './success-schemas.js'
import { defaultTimeNames, defaultUnixTimes } from './time-names.js'

/** Options of {@link responseRules}. */
export interface ResponseRulesOptions extends RuleOptions<ResponseRule> {
  /**
   * How keys join their words, in the whole API.
   * @default 'snake_case'
   */
  readonly keyStyle?: KeyStyle
  /**
   * Names, or last words of names, that are right as they are: for lists that look singular (`embedding`), and for
   * names that look like times and are none (`half_time`).
   * @default []
   */
  readonly words?: readonly string[]
  /**
   * The values that `sex` may have, in any case.
   * @default ['male', 'female', 'intersex', 'unknown']
   */
  readonly sexValues?: readonly string[]
  /**
   * Names of members that hold a time. One that begins with `_` is for all names that end so, in either key style:
   * `_at` is for `created_at` and for `createdAt`.
   * @default ['_at', '_time', '_date', '_datetime', '_timestamp', 'date', 'datetime', 'timestamp']
   */
  readonly timeNames?: readonly string[]
  /**
   * Names of integers that are Unix times, in the same form: with `_ts`, an integer `created_at_ts` is fine.
   * @default ['_unix', '_ts']
   */
  readonly unixTimes?: readonly string[]
  /**
   * How many payloads of a route and status are looked at, where there is no response schema; 0 for none.
   * @default 20
   */
  readonly samples?: number
}

/** What a route says under `config.responseRules`; `false` leaves the route alone. */
export type ResponseRulesRouteOptions = RouteRuleOptions<ResponseRule>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Rules of what this route answers with; `false` leaves it alone. */
    responseRules?: ResponseRulesRouteOptions | false
  }
}

const timeName = text(
  "a name such as 'date', or an ending such as '_at'",
  /^(_[a-z0-9]+(_[a-z0-9]+)*|[A-Za-z]\w*)$/,
)

const checks: Checks<ResponseRulesOptions> = {
  ...ruleChecks(responseRuleNames),
  keyStyle: oneOf('snake_case', 'camelCase'),
  words: listOf(text()),
  sexValues: listOf(text()),
  timeNames: listOf(timeName),
  unixTimes: listOf(timeName),
  samples: integer(0, 10_000),
}

const routeChecks: Checks<ResponseRulesRouteOptions> = routeRuleChecks(responseRuleNames)

const defaults: Required<ResponseRulesOptions> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  keyStyle: 'snake_case',
  words: [],
  sexValues: ['male', 'female', 'intersex', 'unknown'],
  timeNames: defaultTimeNames,
  unixTimes: defaultUnixTimes,
  samples: 20,
}

/**
 * Keeps what routes answer with to the conventions: an object at the top level, no
 * envelope, one key style, lists under plural names, `sex` and `gender` not mixed up, date-times as RFC 3339.
 *
 * When the app gets ready, the 2xx response schemas of every route registered after this plugin are held against the
 * rules; all breaches are thrown as one table. A route without a response schema has its first payloads looked at
 * instead: one that breaks a rule is answered with a 500 problem (`response-invalid`), and the log says why.
 *
 * Not for an API whose format somebody else defines, such as JSON:API, GeoJSON or SCIM: except its routes, with the
 * reason. Routes that do not answer with JSON, wildcard routes, WebSocket routes, routes hidden from the OpenAPI
 * document (`schema.hide`) and routes whose schemas are another validator's are left alone; the report lists them.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const responseRules = conventionPlugin<ResponseRulesOptions>(
  'responseRules',
  function setUpResponseRules(app, received) {
    const options = resolveOptions('responseRules', received, checks, defaults)
    const reporter = reporterOf(app)
    const vocabulary = vocabularyOf(options)
    declareKeyStyle(app, options.keyStyle)
    const readRoute = ruledRoutes({
      plugin: 'responseRules',
      rules: responseRuleNames,
      options,
      routeChecks,
      app,
    })

    const saysNothing = rememberLast(hasNothingToRead)

    app.addHook('onRoute', function inspectRoute(route) {
      const ruled = readRoute(route)
      const { name, modeOf } = ruled
      const watch =
        ruled.exclusionReason === null && saysNothing(route.schema?.response)
          ? watchPayloads({ route: name, modeOf, vocabulary, samples: options.samples, reporter })
          : null
      if (watch !== null) addHook(route, 'preSerialization', 'responseRules', watch.hook)
      if (watch === null && ruled.isHeadSibling) return

      // Shared schemas, and what other plugins make of this route's, are complete when the app gets ready.
      reporter.checkAtReady(() => {
        if (watch !== null && !hasNothingToRead(route.schema?.response)) watch.stop()
        if (!ruled.isHeadSibling) inspectSchemas(route, ruled, this, vocabulary, reporter)
      })
    })
  },
)

type JudgedRoute = RuledRoute<ResponseRule, ResponseRulesRouteOptions>

function vocabularyOf(options: Required<ResponseRulesOptions>): ResponseVocabulary {
  return {
    keyStyle: options.keyStyle,
    words: new Set(options.words),
    sexes: options.sexValues,
    timeNames: options.timeNames,
    unixTimes: options.unixTimes,
  }
}

/** Is there no schema of success that could be read or left alone, so that a route's payloads are all there is? */
function hasNothingToRead(response: unknown): boolean {
  const { judged, excluded } = schemasOf(response)
  return judged.length === 0 && excluded.length === 0
}

function inspectSchemas(
  route: RouteOptions,
  { name, modeOf, exclusionReason, addExceptions }: JudgedRoute,
  app: FastifyInstance,
  vocabulary: ResponseVocabulary,
  reporter: Reporter,
): void {
  const exception = { plugin: 'responseRules', route: name }
  const leaveAlone = (reason: string): void =>
    reporter.addException({ ...exception, rules: responseRuleNames, reason, unused: false })
  if (exclusionReason !== null) {
    leaveAlone(exclusionReason)
    return
  }
  const { judged, excluded } = schemasOf(route.schema?.response)
  for (const reason of excluded) leaveAlone(reason)
  const found = new Map<string, ResponseBreach & { statuses: Set<string> }>()
  for (const { status, schema } of judged) {
    const { breaches, unresolved } = schemaBreaches(schema, app.getSchemas(), vocabulary)
    for (const ref of unresolved) leaveAlone(`${status}: what is behind $ref ${ref} cannot be read`)
    for (const breach of breaches) {
      const key = `${breach.rule} ${breach.problem}`
      const known = found.get(key)
      if (known === undefined) found.set(key, { ...breach, statuses: new Set([status]) })
      else known.statuses.add(status)
    }
  }
  for (const { rule, problem, instead, statuses } of found.values()) {
    const mode = modeOf[rule]
    const told = { rule, problem: `${[...statuses].join(', ')}: ${problem}`, instead }
    if (mode !== 'off') reporter.addFinding({ ...exception, mode, ...told })
  }
  // What payloads will break is not known yet.
  addExceptions(judged.length > 0 ? new Set([...found.values()].map(({ rule }) => rule)) : null)
}

function schemasOf(response: unknown): SuccessSchemas {
  // A problem document has a format of its own.
  return successSchemas(response, (type) => isJson(type) && type !== problemMediaType)
}
