import { documentRoute } from '../../fastify/document.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { jsonSchemasOf } from '../../fastify/route-schemas.js'
import { serializationOf } from '../../fastify/serialization.js'
import { loadAjv } from '../../json-schema/ajv.js'
import { mentionsInt64 } from '../../json-schema/twins.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { reporterOf } from '../../rules/report.js'
import { addCountHook, addInputHooks } from './hooks.js'
import { describeIntegers, documentTwins } from './openapi.js'
import {
  type IntegerTwinsOptions,
  type IntegerTwinsRouteOptions,
  integerTwinsChecks,
  integerTwinsDefaults,
} from './options.js'

export type { IntegerTwinsOptions, IntegerTwinsRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Integer twins of this route; `false` leaves its integers alone. */
    integerTwins?: IntegerTwinsRouteOptions | false
  }
}

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
    const options = resolveOptions('integerTwins', received, integerTwinsChecks, integerTwinsDefaults)
    const reporter = reporterOf(app)
    const prepared: { prepare(): void }[] = []

    app.addHook('onRoute', function completeOnRoute(route) {
      const own = resolveRouteOptions(
        `${[route.method].flat().join(', ')} ${route.path} config.integerTwins`,
        route.config?.integerTwins,
        integerTwinsChecks,
        options,
      )
      if (own === false || own.mode === 'off') return
      const schemas = jsonSchemasOf(route) ?? {}
      if (own.mode === 'report') {
        const readInputs = addInputHooks(this, route, reporter)
        if (readInputs !== null) prepared.push({ prepare: readInputs })
        const serialization = addCountHook(this, route, reporter)
        if (mentionsInt64(schemas.response)) prepared.push(serialization)
        return
      }
      const serialization = serializationOf(this, route)
      serialization.twins = true
      const readSchemas = addInputHooks(this, route, null)
      if (readSchemas !== null) prepared.push({ prepare: readSchemas })
      const describe = describeIntegers(schemas.body)
      documentRoute(this, route, 'integerTwins', () => ({
        describe,
        document: (operation, openapi) => documentTwins(operation, openapi, serialization.isReadable),
      }))
    })
    app.addHook('onReady', function prepareRoutes(done) {
      for (const part of prepared) part.prepare()
      done()
    })
  },
)
