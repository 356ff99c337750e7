import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { offerNames } from '../../convention/offer-names.js'
import { markOf } from '../../convention/raw-request.js'
import { webOrigin } from '../../http/url.js'
import { type Check, flag, integer, invalid, listOf, type OptionsOf, option } from '../../options.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { modeOption } from '../../report/modes.js'
import { scheduleTimeout } from '../../time/schedule.js'
import { addFormParser, addOverrideScope, applyMark, formConverter, routeFinder } from './hooks.js'
import { overrideHeader } from './override-decision.js'
import { PendingBodies } from './read-ahead.js'

// TRACE echoes the client's credentials, and CONNECT makes a tunnel of the connection.
const never: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'POST', 'TRACE', 'CONNECT']

const method: Check<string> = (label, received) =>
  typeof received === 'string' && /^[A-Z][A-Z-]*$/.test(received) && !never.includes(received)
    ? received
    : invalid(label, `a method in uppercase, none of ${never.join(', ')}`, received)

const methodOverrideOptions = {
  /**
   * The methods that a POST may be performed as, in uppercase. `GET`, `HEAD` and `OPTIONS` are not allowed: safe methods are
   * exempt from protections that a POST needs.
   * @default ['PUT', 'PATCH', 'DELETE']
   */
  methods: option(listOf(method, 'at least one method'), ['PUT', 'PATCH', 'DELETE']),
  /**
   * Whether forms are searched for `_method`. With `false`, for an API without HTML forms, they are not read ahead.
   * @default true
   */
  form: option(flag, true),
  /**
   * Milliseconds within which a form has to arrive, else the answer is 408. A form is read before any hook runs, so it has
   * a limit of its own, besides `requestTimeout` of the server.
   * @default 30_000
   */
  formTimeout: option(integer(1, 2_147_483_647), 30_000),
  /**
   * Origins whose pages may name a method in a form (`'https://app.example'`), besides that of the service. A form from
   * any other origin is refused if the browser sends its origin: it has the cookies of the user, and needs no preflight.
   *
   * List only origins that may do everything that the user may. Not for pages that can `fetch`: they need no form, and
   * CORS limits their methods.
   * @default []
   */
  formOrigins: option(listOf(webOrigin), []),
  /**
   * `enforce` performs the named method; `report` changes nothing and counts what would be performed or refused; `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

/** Options of the plugin `methodOverride`. */
export type MethodOverrideOptions = OptionsOf<typeof methodOverrideOptions>

declare module 'fastify' {
  interface FastifyRequest {
    /** The method that the client sent: `POST` if another one is performed, else the same as `method`. */
    readonly originalMethod: string
  }
}

/**
 * Lets clients that can send only GET and POST use the other methods: a POST with the header `X-HTTP-Method-Override`, or
 * with a field `_method` in a form, is performed as the method that it names. The method is set before routing, so that
 * routes, hooks, validation and logs see no other. The method that the client sent is in `request.originalMethod`, and in
 * the log of the request.
 *
 * A GET is never overridden, and neither is a POST that a proxy passes on: one that only wildcard routes and routes for all
 * methods serve. In an encapsulated context, the plugin serves all paths below the prefix of that context.
 *
 * Not for an API whose clients can send all methods: every second way to send a request has to be protected too. A form
 * from a page of another origin is refused; see the option `formOrigins`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration
 */
export const methodOverride: FastifyPluginAsync<MethodOverrideOptions & RegistrationOptions> = convention({
  name: 'methodOverride',
  rules: ['performed', 'refused'],
  options: methodOverrideOptions,
  routeOptions: {},
  setUp({ app, options: { mode, methods, form, formTimeout, formOrigins } }) {
    const members = { originalMethod: { get: originalMethod } }
    offerNames(app, { plugin: 'methodOverride', mode, owner: 'request', members })
    app.addHook('onRoute', function refuseRouteOptions({ config, method, path }) {
      const given = (config as { readonly methodOverride?: unknown } | undefined)?.methodOverride
      if (given !== undefined) invalid(`${method} ${path} config.methodOverride`, expectedOfRoutes, given)
    })
    const bodyLimit = app.initialConfig.bodyLimit ?? defaultBodyLimit
    const limits = { bodies: maxForms, bytes: maxFullForms * bodyLimit, time: formTimeout }
    addOverrideScope(app, {
      methods,
      form,
      formOrigins,
      mode,
      prefix: app.prefix,
      bodyLimit,
      pending: new PendingBodies(limits, scheduleTimeout),
      ...routeFinder(app, ['POST', ...methods]),
      onAbandoned({ method, url }) {
        app.log.info({ method, url }, 'the client aborted the request before its form had arrived')
      },
    })
    if (mode === 'enforce' && form) addFormParser(app)
  },
  route({ methods, route, options: { mode, form, methods: targets } }) {
    if (route === null || mode !== 'enforce') return { onRequest: applyMark }
    const performed = methods.filter((method) => targets.includes(method))
    return {
      onRequest: applyMark,
      preValidation: form && performed.length > 0 ? formConverter(route) : undefined,
      describe: descriptionOf(performed, methods),
    }
  },
})

/** What the OpenAPI document shows: the header on a route that a POST may be performed as, the refusals on one with POST. */
function descriptionOf(
  performed: readonly string[],
  methods: readonly string[],
): RouteDescription | undefined {
  if (performed.length > 0) {
    const description =
      'For clients that can only send POST: send POST to this path, with the method in this field'
    return { parameters: { [overrideHeader]: { schema: { type: 'string', enum: performed, description } } } }
  }
  if (!methods.includes('POST')) return undefined
  return {
    problems: problemsOf({
      'method-override-invalid': `${overrideHeader} names no method that a POST may be performed as`,
      'method-not-allowed': `The path has no route for the method in ${overrideHeader}`,
    }),
    headersOf: {
      405: { Allow: { type: 'string', description: 'The methods of the path (RFC 9110 §10.2.1)' } },
    },
  }
}

function originalMethod(this: FastifyRequest): string {
  const mark = markOf(this)
  return mark?.kind === 'performed' ? mark.originalMethod : this.method
}

const expectedOfRoutes = 'none: the method is set before the route is known'

// Limits of the forms that are read at once: their number, and their bytes in forms of the maximum size.
const maxForms = 1000
const maxFullForms = 16

// Fastify's own default. `initialConfig` always has the option, but its type has it as optional.
const defaultBodyLimit = 1_048_576
