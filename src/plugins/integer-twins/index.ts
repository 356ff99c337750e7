import type {
  FastifyInstance,
  FastifyReply,
  FastifySchema,
  preSerializationHookHandler,
  RouteOptions,
} from 'fastify'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addHook } from '../../fastify/route.js'
import { RouteSerialization, serializationOf } from '../../fastify/serialization.js'
import { int64Mentions, mentionsInt64 } from '../../json-schema/int64-mentions.js'
import type { Json, SchemaStore } from '../../json-schema/json-schema.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import { type Checks, oneOf, resolveOptions, resolveRouteOptions } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { type Reporter, reporterOf } from '../../rules/report.js'
import { loadAjv } from './conditions.js'
import { addInputHooks } from './hooks.js'
import { completeShared, withTwins, withTwinsInResponse } from './openapi.js'
import { type TwinChanges, twinChanges } from './twin-changes.js'

/** Options of {@link integerTwins}. */
export interface IntegerTwinsOptions {
  /**
   * `enforce` writes twins and reads exact integers, `report` changes nothing and counts the answers that would get
   * one (`integerTwins.twin`) and those that have lost digits already (`integerTwins.lost-digits`), `off` does nothing.
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
 * Large integers, exact both ways.
 *
 * Outward, an integer that the response schema declares `format: int64` (or `uint64`) is written with all its digits,
 * from a BigInt, a decimal string or a safe Number, and is followed by its string twin `<name>_str`, which the schema
 * and so the OpenAPI document show. Other BigInts get a twin where they appear and a Number cannot hold them, also
 * without a schema. A Number beyond 2^53 may be rounded and gets none.
 *
 * Inward, what a body, a path or a query parameter declares `int64` reaches the handler as the exact BigInt.
 *
 * Not for integers that stay below 2^53: declare them `integer` without a format, and they cost nothing.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const integerTwins = conventionPlugin<IntegerTwinsOptions>(
  'integerTwins',
  async function setUpIntegerTwins(app, received) {
    await loadAjv()
    const options = resolveOptions('integerTwins', received, checks, defaults)
    const reporter = reporterOf(app)
    const prepared: { prepare(): void }[] = []
    const twinned: TwinnedRoute[] = []
    const contexts = new Set<FastifyInstance>()

    app.addHook('onRoute', function completeOnRoute(route) {
      const own = resolveRouteOptions(
        `${[route.method].flat().join(', ')} ${route.path} config.integerTwins`,
        route.config?.integerTwins,
        checks,
        options,
      )
      if (own === false || own.mode === 'off') return
      const declares = mentionsInt64(route.schema?.response)
      if (own.mode === 'report') {
        const declared = declaredSerialization(this, route)
        if (declares) prepared.push(declared)
        addHook(route, 'preSerialization', 'integerTwins', countTwins(declared, reporter))
        return
      }
      const serialization = serializationOf(this, route)
      serialization.twins = true
      contexts.add(this)
      // What refers to others may not be readable; the report is to say so at boot.
      if (int64Mentions(route.schema?.response).reference) prepared.push(serialization)
      const readSchemas = addInputHooks(this, route)
      if (readSchemas !== null) prepared.push({ prepare: readSchemas })
      if (mentionsInt64(route.schema?.body)) {
        const { schema = {} } = route
        route.schema = { ...schema, ...bodyWithTwins(schema, this.getSchemas() as SchemaStore, 'validation') }
      }
      if (declares || mentionsInt64(route.schema?.body)) twinned.push({ app: this, route, serialization })
    })
    app.addHook('onReady', function prepareRoutes(done) {
      for (const part of prepared) part.prepare()
      for (const { app, route, serialization } of twinned) {
        completeWhenRead(route, (schema) => {
          serialization.prepare()
          return describedTwins(schema, app.getSchemas() as SchemaStore, serialization.isReadable)
        })
      }
      for (const context of contexts) completeShared(context.getSchemas() as SchemaStore)
      done()
    })
  },
)

interface TwinnedRoute {
  readonly app: FastifyInstance
  readonly route: RouteOptions
  readonly serialization: RouteSerialization
}

/** The serialization that a route would have in `enforce` mode; it writes none of its answers. */
function declaredSerialization(app: FastifyInstance, route: RouteOptions): RouteSerialization {
  const name = `${[route.method].flat().join(', ')} ${route.url}`
  const serialization = new RouteSerialization(app, route.schema?.response, name, route.serializerCompiler)
  serialization.twins = true
  return serialization
}

/** The `preSerialization` hook of `report` mode: counts what twins would change. */
function countTwins(
  serialization: RouteSerialization,
  reporter: Reporter,
): preSerializationHookHandler<unknown> {
  return function countTwinsOfAnswer(request, reply, payload, next) {
    const { twin, lost } = changesOf(serialization, reply, payload)
    if (lost !== null) {
      const example = `${lost} is a Number beyond 2^53 in a declared 64-bit integer: its digits are lost`
      reporter.observe('integerTwins', 'lost-digits', request, example)
    }
    if (twin !== null) reporter.observe('integerTwins', 'twin', request, `${twin} would get a twin`)
    next(null, payload)
  }
}

const noChanges: TwinChanges = { twin: null, lost: null }

function changesOf(serialization: RouteSerialization, reply: FastifyReply, payload: unknown): TwinChanges {
  try {
    const rewriting = serialization.twinning(reply, payload)
    return rewriting === null ? noChanges : twinChanges(payload, rewriting.write, rewriting.whole)
  } catch {
    // A payload that does not match its schema, or a getter that throws, is the app's to handle, as without this plugin.
    return noChanges
  }
}

/** The schema of a route as the document is to show it; a response that only Fastify can write has no twins. */
function describedTwins(schema: FastifySchema, shared: SchemaStore, isReadable: boolean): FastifySchema {
  const described = { ...schema, ...bodyWithTwins(schema, shared, 'input') }
  return schema.response === undefined || !isReadable
    ? described
    : { ...described, response: withTwinsInResponse(schema.response, shared) }
}

function bodyWithTwins(
  { body }: FastifySchema,
  shared: SchemaStore,
  purpose: 'validation' | 'input',
): Partial<Pick<FastifySchema, 'body'>> {
  return isObjectSchema(body) ? { body: withTwins(body as Json, shared, purpose) } : {}
}
