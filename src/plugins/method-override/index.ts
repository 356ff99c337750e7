import { parse } from 'node:querystring'
import {
  errorCodes,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  type RouteOptions,
} from 'fastify'
import { appKey } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import { proxyPaths, type RegistrationOptions } from '../../convention/declared-routes.js'
import { discardUnreadBody, markOf, type RawRequest } from '../../convention/exchange.js'
import { bodyParsers } from '../../convention/internals.js'
import { routeAt } from '../../convention/not-found-handler.js'
import { offerNames } from '../../convention/offer-names.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import type { Effect, RequestStep } from '../../convention/steps.js'
import { formType } from '../../http/media-types.js'
import { pathOf, webOrigin } from '../../http/url.js'
import {
  type Check,
  flag,
  integer,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  option,
} from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { modeOption } from '../../report/modes.js'
import { scheduleTimeout } from '../../time/async.js'
import { type OverrideScope, overrideHeader, overridePost, scopeOf } from './override.js'
import { pendingBodies } from './read-ahead.js'

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
   * Whether forms are searched for `_method`. Set `false` for an API without HTML forms: then none is read before routing.
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
    const pending = pendingBodies(limits, scheduleTimeout)
    const finder = routeFinder(app, ['POST', ...methods])
    addScope(app, {
      methods,
      form,
      formOrigins,
      mode,
      prefix: app.prefix,
      bodyLimit,
      pending,
      ...finder,
      onAbandoned({ method, url }) {
        app.log.info({ method, url }, 'the client aborted the request before its form had arrived')
      },
    })
    if (mode === 'enforce' && form) addFormParser(app)
  },
  route({ methods, route, options: { mode, form, methods: targets } }) {
    if (route === null || mode !== 'enforce') return { onRequest: applyMark }
    const performed = methods.filter((method) => targets.includes(method))
    const preValidation = form && performed.length > 0 ? formConverter(route) : undefined
    return { onRequest: applyMark, preValidation, describe: descriptionOf(performed, methods) }
  },
})

const expectedOfRoutes = 'none: the method is set before the route is known'

// Limits of the forms that are read at once: their number, and their bytes in forms of the maximum size.
const maxForms = 1000
const maxFullForms = 16

// Fastify's own default. `initialConfig` always has the option, but its type has it as optional.
const defaultBodyLimit = 1_048_576

// The scopes of each app, by its configuration object.
const scopesOf = new WeakMap<object, OverrideScope[]>()

// The method has to be set before routing, when the context is not known: the longest prefix decides, also one that is off.
function addScope(app: FastifyInstance, scope: OverrideScope): void {
  const known = scopesOf.get(appKey(app))
  if (known !== undefined) {
    const depthOf = ({ prefix }: OverrideScope): number => prefix.split('/').length
    known.push(scope)
    known.sort((one, other) => depthOf(other) - depthOf(one))
    return
  }
  if (scope.mode === 'off') return
  const scopes = [scope]
  scopesOf.set(appKey(app), scopes)
  const strategy = {
    name: 'methodOverride',
    // It derives no value, so every route matches. A strategy that must match runs for routes that do not name it.
    mustMatchWhenDerived: true,
    storage: () => ({ get: () => null, set: () => {} }),
    // The third parameter makes it an asynchronous strategy.
    deriveConstraint(raw: RawRequest, _context: unknown, done: (error: null) => void) {
      const found = raw.method === 'POST' ? scopeOf(scopes, raw.url ?? '/') : undefined
      if (found === undefined || found.mode === 'off') done(null)
      else overridePost(raw, found, () => done(null))
    },
  }
  // Fastify's types have no asynchronous strategies.
  app.addConstraintStrategy(strategy as unknown as Parameters<typeof app.addConstraintStrategy>[0])
}

const knownConstraints: ReadonlySet<string> = new Set(['host', 'version'])

function routeFinder(
  app: FastifyInstance,
  methods: readonly string[],
): Pick<OverrideScope, 'hasRoute' | 'isPassedOn'> {
  let hasCustomConstraints = false
  app.addHook('onRoute', function noteConstraints({ constraints }) {
    hasCustomConstraints ||= Object.keys(constraints ?? {}).some((name) => !knownConstraints.has(name))
  })
  const isOfProxy = proxyPaths(app)

  const find = ({ url = '/', headers }: RawRequest, method: string) =>
    routeAt(app, headers, method, pathOf(url) || '/')

  return {
    hasRoute: (raw) => hasCustomConstraints || methods.some((method) => find(raw, method) !== null),
    isPassedOn(raw) {
      if (hasCustomConstraints || find(raw, 'POST') === null) return false
      if (isOfProxy(pathOf(raw.url ?? '/'))) return true
      const found = methods.map((method) => find(raw, method)).filter((route) => route !== null)
      return found.every(({ params }) => '*' in params)
    },
  }
}

function applyMark(request: FastifyRequest, reply: FastifyReply): Effect | undefined {
  const mark = markOf(request)
  if (mark === undefined) return undefined
  discardUnreadBody(request, reply)
  if (mark.kind === 'refused') {
    const { problem, unlessAbove = Number.POSITIVE_INFINITY } = mark
    // A large form is not refused where the route accepts it.
    if ((request.routeOptions.bodyLimit ?? 0) > unlessAbove) return undefined
    return { rule: 'refused', refusal: problem }
  }
  if (mark.kind === 'observed') return { rule: 'performed', given: mark.given }
  if (mark.kind === 'passed') return undefined
  const change = () => {
    request.log = request.log.child({ originalMethod: 'POST' })
    reply.log = request.log
  }
  return { rule: 'performed', given: 'POST', change }
}

function originalMethod(this: FastifyRequest): string {
  return markOf(this)?.kind === 'performed' ? 'POST' : this.method
}

// Other forms get the same 415 as before: a route for JSON must not accept what a page of any site can send.
function addFormParser(app: FastifyInstance): void {
  const contexts = new Set<FastifyInstance>()
  app.addHook('onRoute', function noteContext() {
    contexts.add(this)
  })
  app.addHook('onReady', function completeParsers(done) {
    for (const context of contexts) {
      // With a pattern, the type is not in the list of accepted types that a 415 has.
      if (bodyParsers(context).getParser(formType) === undefined)
        context.addContentTypeParser(formPattern, { parseAs: 'string' }, parseOverriding)
    }
    done()
  })
}

const poisoned = 'A form must not have a field __proto__'
const formPattern = /^application\/x-www-form-urlencoded\b/i

function parseOverriding(
  request: FastifyRequest,
  form: string | Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  // An empty form counts as no body, as it does where nothing parses forms.
  if (form.length === 0) done(null)
  else if (!isOverridingForm(request)) done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  else {
    // Without a limit, fields beyond the 1000th are not dropped silently; the body limit bounds their number.
    const fields = parse(String(form), '&', '=', { maxKeys: 0 })
    // Refused as in JSON: an assignment of it would set a prototype.
    if (Object.hasOwn(fields, '__proto__')) done(new ProblemError('body-malformed', { detail: poisoned }))
    else done(null, fields)
  }
}

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

/** Whether the body of a request is a form that named the method which is performed. */
function isOverridingForm(request: FastifyRequest): boolean {
  const mark = markOf(request)
  return mark?.kind === 'performed' && mark.byForm
}

/** Returns the step that converts the values of a form which is performed as another method; `undefined` without a schema. */
function formConverter(route: RouteOptions): RequestStep | undefined {
  const schema = formSchema(jsonSchemasOf(route)?.body)
  if (schema === null) return undefined
  return (request) => {
    const { body } = request
    if (!isOverridingForm(request) || !isObject(body)) return undefined
    const change = () => {
      request.body = converted(request, body, schema)
    }
    return { rule: 'performed', given: 'the values of a form', change }
  }
}

function formSchema(body: unknown): Record<string, unknown> | null {
  const content = isObject(body) && isObject(body.content) ? body.content : null
  const media = content?.[formType]
  const schema = content === null ? body : isObject(media) ? media.schema : null
  return isObject(schema) ? schema : null
}

function converted(
  request: FastifyRequest,
  form: Record<string, unknown>,
  schema: Record<string, unknown>,
): Record<string, unknown> {
  // Compiled for the first form: few services get one. The validator of the body reports what is invalid.
  const validate = request.compileValidationSchema(schema, 'querystring')
  // It converts in place, and may remove members that only the validator of the body knows.
  const copy = Object.fromEntries(
    Object.entries(form).map(([name, text]) => [name, Array.isArray(text) ? [...text] : text]),
  )
  const result: unknown = validate(copy)
  const values = isObject(result) && isObject(result.value) ? result.value : copy
  const members = Object.entries(form).map(([name, text]) => {
    const value = Object.hasOwn(values, name) ? values[name] : text
    // Keep the text where a Number does not have all digits.
    if (isRounded(value)) return [name, text]
    return [name, Array.isArray(value) && value.some(isRounded) ? [text].flat() : value]
  })
  return Object.fromEntries(members)
}

function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}
