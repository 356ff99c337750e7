import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { addExactInput } from '../adapter/exact-input.js'
import { conventionPlugin } from '../adapter/plugin.js'
import { type Reporter, reporterOf } from '../adapter/report.js'
import { serializationOf } from '../adapter/serialization.js'
import { type Mode, modes } from '../findings.js'
import { type Checks, oneOf, resolveOptions, resolveRouteOptions } from '../options.js'
import type { ParseJson } from '../representation/input/exact-body.js'
import { mentionsWide } from '../representation/input/mentions-wide.js'
import { unsafePath } from '../representation/output/integer-text.js'
import { isObjectSchema } from '../representation/schema/query-schema.js'
import type { Json, SchemaStore } from '../representation/schema/schema-refs.js'
import { completeShared, withTwins, withTwinsInResponse } from '../representation/schema/twin-schema.js'

/** Options of {@link integerTwins}. */
export interface IntegerTwinsOptions {
  /**
   * `enforce` writes twins and reads exact integers, `report` changes nothing and counts the answers that would get
   * one or have lost digits, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
}

/** What a route says under `config.integerTwins`; `false` leaves its integers alone. */
export type IntegerTwinsRouteOptions = IntegerTwinsOptions

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Integer twins of this route; `false` leaves its integers alone. */
    integerTwins?: IntegerTwinsRouteOptions | false
  }
}

const checks: Checks<IntegerTwinsOptions> = { mode: oneOf(...modes) }

const defaults: Required<IntegerTwinsOptions> = { mode: 'enforce' }

/**
 * Large integers, exact both ways (seed §2 rule 6).
 *
 * Outward, an integer that the response schema declares `format: int64` (or `uint64`) is written with all its digits,
 * from a BigInt, a decimal string or a safe Number, and is followed by its string twin `<name>_str`, which the schema
 * and so the OpenAPI document show. Other integers get a twin where they appear and a Number cannot hold them, also
 * without a schema.
 *
 * Inward, what a body, a path or a query parameter declares `int64` reaches the handler as the exact BigInt.
 *
 * Not for integers that stay below 2^53: declare them `integer` without a format, and they cost nothing.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const integerTwins = conventionPlugin<IntegerTwinsOptions>(
  'integerTwins',
  function setUpIntegerTwins(app, received) {
    const options = resolveOptions('integerTwins', received, checks, defaults)
    const reporter = reporterOf(app)
    const parse = jsonParserOf(app)
    const prepared: { prepare(): void }[] = []
    const contexts = new Set<FastifyInstance>()

    app.addHook('onRoute', function completeOnRoute(route) {
      const own = resolveRouteOptions(
        `${[route.method].flat().join(', ')} ${route.path} config.integerTwins`,
        route.config?.integerTwins,
        checks,
        options,
      )
      if (own === false || own.mode === 'off') return
      if (own.mode === 'report') {
        route.preSerialization = [...[route.preSerialization ?? []].flat(), twinsObserver(reporter)]
        return
      }
      if (route.schema !== undefined) route.schema = withTwinsInSchema(route.schema, this)
      const serialization = serializationOf(this, route)
      serialization.twins = true
      contexts.add(this)
      if (mentionsWide(route.schema?.response)) prepared.push(serialization)
      const input = addExactInput(this, route, parse)
      if (input !== null) prepared.push(input)
    })
    app.addHook('onReady', function prepareRoutes(done) {
      for (const part of prepared) part.prepare()
      for (const context of contexts) completeShared(context.getSchemas() as SchemaStore)
      done()
    })
  },
)

function withTwinsInSchema(schema: FastifySchema, app: FastifyInstance): FastifySchema {
  const shared = app.getSchemas() as SchemaStore
  return {
    ...schema,
    ...(schema.response === undefined ? {} : { response: withTwinsInResponse(schema.response, shared) }),
    ...(isObjectSchema(schema.body) ? { body: withTwins(schema.body as Json, shared) } : {}),
  }
}

/** Fastify's own parser, with the app's view of prototype poisoning. */
function jsonParserOf(app: FastifyInstance): ParseJson {
  const { onProtoPoisoning = 'error', onConstructorPoisoning = 'error' } = app.initialConfig
  const parser = app.getDefaultJsonParser(onProtoPoisoning, onConstructorPoisoning) as unknown as SyncParser
  return function parseJson(text) {
    const outcome: { error: Error | null; value?: unknown } = { error: null }
    // It calls back at once.
    parser(null, text, (error, value) => Object.assign(outcome, { error, value }))
    if (outcome.error !== null) throw outcome.error
    return outcome.value
  }
}

type SyncParser = (request: null, text: string, done: (error: Error | null, value?: unknown) => void) => void

function twinsObserver(reporter: Reporter) {
  return function observeTwins(
    request: FastifyRequest,
    _reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void {
    const path = unsafePath(payload)
    if (path !== null) reporter.observe('integerTwins', 'twin', request, `${path} would get a twin`)
    next(null, payload)
  }
}
