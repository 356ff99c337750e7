import type { FastifyPluginAsync } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import { RouteSerialization, serializationOf } from '../../convention/serialization.js'
import type { PayloadStep } from '../../convention/steps.js'
import { LostDigitsError } from '../../json/int64.js'
import type { OptionsOf } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { modeOption, routeMode } from '../../report/modes.js'
import { loadAjv } from '../../schema/alternatives.js'
import { mentionsInt64 } from '../../schema/shape.js'
import { inputSteps } from './hooks.js'
import { documentTwins } from './openapi.js'

const integerTwinsOptions = {
  /**
   * `enforce` writes twins and reads exact integers. `report` changes nothing and counts the answers that would get one
   * (`integerTwins.twin`), those that have lost digits already (`integerTwins.lost-digits`) and the requests with integers
   * that would be BigInts, or refused (`integerTwins.input`). `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

/** Options of {@link integerTwins}. */
export interface IntegerTwinsOptions extends OptionsOf<typeof integerTwinsOptions> {}

/** What a route sets under `config.integerTwins`; `false` leaves its integers alone. */
export interface IntegerTwinsRouteOptions extends OptionsOf<typeof routeMode> {}

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
export const integerTwins: FastifyPluginAsync<IntegerTwinsOptions & RegistrationOptions> = convention({
  name: 'integerTwins',
  rules: ['twin', 'lost-digits', 'input'],
  options: integerTwinsOptions,
  routeOptions: routeMode,
  async setUp() {
    await loadAjv()
  },
  route({ app, route, options: { mode }, atReady, addFinding, exclude }) {
    if (route === null || mode === 'off') return undefined
    const schemas = jsonSchemasOf(route) ?? {}
    const steps = inputSteps(app, schemas, {
      given: route.schema ?? {},
      isEnforced: mode === 'enforce',
      atReady,
      onUnreadable: (reason) => exclude(reason, ['input']),
    })
    const isReport = mode === 'report'
    const serialization = isReport ? new RouteSerialization(app, route) : serializationOf(app, route)
    serialization.twins = true
    if (isReport || mentionsInt64(schemas.response))
      atReady(() => {
        serialization.prepare()
        if (!serialization.declaresTwins || !serialization.isOfTheApp) return
        const problem = 'setReplySerializer() writes the responses, whose 64-bit integers have no twins then'
        addFinding('twin', problem, 'setSerializerCompiler(), or config: { integerTwins: false }')
      })
    if (isReport) return { ...steps, preSerialization: countTwins(serialization) }
    return {
      ...steps,
      serialization: serialization.serialize,
      describe: mentionsInt64(schemas.body) ? describeMismatch : undefined,
      document: (operation, openapi) => documentTwins(operation, openapi, serialization.hasReadSchemas),
    }
  },
})

const describeMismatch: RouteDescription = {
  problems: problemsOf({ 'integer-twin-mismatch': 'An integer and its twin in the body differ' }),
}

function countTwins(serialization: RouteSerialization): PayloadStep {
  return (_request, reply, payload) => {
    try {
      const json = payload === null ? null : serialization.twinnedJson(reply, payload)
      const isTwinned = json?.includes('_str":') === true
      return isTwinned ? { rule: 'twin', given: 'integers would get twins', payload: json } : undefined
    } catch (error) {
      // A payload that does not match its schema is the app's to handle, as without this plugin.
      if (!(error instanceof LostDigitsError)) return undefined
      return { rule: 'lost-digits', given: error.message, refusal: new ProblemError('internal-server-error') }
    }
  }
}
