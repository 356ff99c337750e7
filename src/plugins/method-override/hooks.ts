import { parse } from 'node:querystring'
import {
  errorCodes,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
  type RouteOptions,
} from 'fastify'
import { appKey, parsesType } from '../../fastify/internals.js'
import { discardUnreadBody, markOf, type RawRequest } from '../../fastify/raw-request.js'
import { addHook } from '../../fastify/route.js'
import { jsonSchemasOf } from '../../fastify/route-schemas.js'
import { proxyPaths } from '../../fastify/route-watch.js'
import { pathOf } from '../../http/request-target.js'
import { isObject } from '../../options.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { formType } from './form-field.js'
import { type OverrideScope, overridePost, scopeOf, sortScopes } from './override-post.js'

type Next = (error?: Error) => void

// The scopes of each app, by its configuration object.
const scopesOf = new WeakMap<object, OverrideScope[]>()

/**
 * Applies overrides to the POSTs below the prefix of a context. The method has to be set before routing, when the context
 * is not known yet. So the longest prefix decides, as with Fastify's own not-found handlers.
 */
export function addOverrideScope(app: FastifyInstance, scope: OverrideScope): void {
  const known = scopesOf.get(appKey(app))
  if (known !== undefined) {
    known.push(scope)
    sortScopes(known)
    return
  }
  const scopes = [scope]
  scopesOf.set(appKey(app), scopes)
  const strategy = {
    name: 'methodOverride',
    // It derives no value, so every route matches. A strategy that must match runs for routes that do not name it.
    mustMatchWhenDerived: true,
    storage: () => ({ get: () => null, set: () => {} }),
    // The third parameter makes it an asynchronous strategy.
    deriveConstraint: function overrideMethod(
      raw: RawRequest,
      _context: unknown,
      done: (error: null) => void,
    ) {
      const found = raw.method === 'POST' ? scopeOf(scopes, raw.url ?? '/') : undefined
      if (found === undefined) done(null)
      else overridePost(raw, found, () => done(null))
    },
  }
  // Fastify's types have no asynchronous strategies.
  app.addConstraintStrategy(strategy as unknown as Parameters<typeof app.addConstraintStrategy>[0])
}

type FindOptions = Parameters<FastifyInstance['findRoute']>[0]

const knownConstraints: ReadonlySet<string> = new Set(['host', 'version'])

/**
 * Returns the functions of a scope that look for the routes of a path. `hasRoute` tells whether a route serves it with one
 * of the methods, so that the body of any other request is not read. It returns `true` if a route has custom constraints,
 * which cannot be derived here.
 */
export function routeFinder(
  app: FastifyInstance,
  methods: readonly string[],
): Pick<OverrideScope, 'hasRoute' | 'isPassedOn'> {
  let hasCustomConstraints = false
  app.addHook('onRoute', function noteConstraints({ constraints }) {
    hasCustomConstraints ||= Object.keys(constraints ?? {}).some((name) => !knownConstraints.has(name))
  })
  const isOfProxy = proxyPaths(app)

  function find({ url = '/', headers }: RawRequest, method: string) {
    const { host, ':authority': authority, 'accept-version': version } = headers
    const constraints = { host: host ?? authority, version }
    return app.findRoute({
      method: method as HTTPMethods,
      url: pathOf(url) || '/',
      constraints,
    } as FindOptions)
  }

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

/** Returns the `onRequest` hook, which refuses, logs or counts what was decided before routing. */
export function overrideHook(reporter: Reporter) {
  return function overrideOnRequest(request: FastifyRequest, reply: FastifyReply, next: Next): void {
    const mark = markOf(request)
    if (mark === undefined) {
      next()
      return
    }
    discardUnreadBody(request, reply)
    if (mark.kind === 'refused' && !allowsLarger(request, mark.unlessAbove)) {
      const { statusCode } = mark.problem
      // The client may still be sending. HTTP/2 can end the stream instead.
      const mayBeSending = statusCode === 413 || statusCode === 408
      if (mayBeSending && request.raw.httpVersionMajor < 2) reply.header('connection', 'close')
      refuse(request, reply, mark.problem, next)
      return
    }
    if (mark.kind === 'performed') {
      request.log = request.log.child({ originalMethod: mark.originalMethod })
      reply.log = request.log
    } else if (mark.kind === 'observed') {
      reporter.observe('methodOverride', mark.rule, request, mark.given, mark.does)
    }
    next()
  }
}

/** Whether the route accepts bodies above the limit of the search, so that a large form is not refused. */
function allowsLarger(request: FastifyRequest, limit: number): boolean {
  return (request.routeOptions.bodyLimit ?? 0) > limit
}

/**
 * Adds a parser for forms that are performed as another method to the contexts without a form parser. Other forms get the
 * same 415 there as before: a route that accepts only JSON does not accept what a page of any site can send.
 *
 * A parser of the app wins, whenever it was added.
 */
export function addFormParser(app: FastifyInstance): void {
  const contexts = new Set<FastifyInstance>()
  app.addHook('onRoute', function noteContext() {
    contexts.add(this)
  })
  app.addHook('onReady', function completeParsers(done) {
    for (const context of contexts) {
      // With a pattern, the type is not in the list of accepted types that a 415 has.
      if (!parsesType(context, formType))
        context.addContentTypeParser(formPattern, { parseAs: 'string' }, parseOverriding)
    }
    done()
  })
}

const formPattern = /^application\/x-www-form-urlencoded\b/i

function parseOverriding(
  request: FastifyRequest,
  form: string | Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  if (!isOverridingForm(request)) done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  // Without a limit, fields beyond the 1000th are not dropped silently; the body limit bounds their number.
  else done(null, parse(String(form), '&', '=', { maxKeys: 0 }))
}

function isOverridingForm(request: FastifyRequest): boolean {
  const mark = markOf(request)
  return mark?.kind === 'performed' && mark.byForm
}

/**
 * Adds the `preValidation` hook that converts the values of a form which is performed as another method. They are strings,
 * as in a query, so the app's validator converts them as it converts a query.
 */
export function convertForms(route: RouteOptions, methods: readonly string[]): void {
  const schema = formSchema(jsonSchemasOf(route)?.body)
  if (schema === null || ![route.method].flat().some((method) => methods.includes(method))) return
  addHook(route, 'preValidation', 'methodOverride', function convertForm(request, _reply, next) {
    if (isOverridingForm(request) && isObject(request.body)) {
      request.body = converted(request, request.body, schema)
    }
    next()
  })
}

/** Returns the schema that validates a form; `null` if there is none. */
function formSchema(body: unknown): Record<string, unknown> | null {
  if (!isObject(body)) return null
  if (!isObject(body.content)) return body
  const media = body.content[formType]
  return isObject(media) && isObject(media.schema) ? media.schema : null
}

function converted(
  request: FastifyRequest,
  form: Record<string, unknown>,
  schema: Record<string, unknown>,
): unknown {
  const given = { ...form }
  // Compiled for the first form: few services get one. The validator of the body reports what is invalid.
  const validate = request.compileValidationSchema(schema, 'querystring')
  const result: unknown = validate(form)
  const values = isObject(result) && isObject(result.value) ? result.value : form
  // Keep the text where a Number does not have all digits.
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) values[name] = given[name]
  }
  return values
}
