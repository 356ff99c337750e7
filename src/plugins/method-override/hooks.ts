import { parse } from 'node:querystring'
import {
  errorCodes,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
  type RouteOptions,
} from 'fastify'
import { appKey } from '../../convention/contexts.js'
import { proxyPaths } from '../../convention/declared-routes.js'
import { parsesType } from '../../convention/internals.js'
import { discardUnreadBody, markOf, type RawRequest } from '../../convention/raw-request.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import type { Effect, RequestStep } from '../../convention/steps.js'
import { pathOf } from '../../http/url.js'
import { isObject } from '../../options.js'
import { formType } from './override-decision.js'
import { type OverrideScope, overridePost, scopeOf, sortScopes } from './override-post.js'

// The scopes of each app, by its configuration object.
const scopesOf = new WeakMap<object, OverrideScope[]>()

// The method has to be set before routing, when the context is not known: the longest prefix decides, also one that is off.
export function addOverrideScope(app: FastifyInstance, scope: OverrideScope): void {
  const known = scopesOf.get(appKey(app))
  if (known !== undefined) {
    known.push(scope)
    sortScopes(known)
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
    deriveConstraint: function overrideMethod(
      raw: RawRequest,
      _context: unknown,
      done: (error: null) => void,
    ) {
      const found = raw.method === 'POST' ? scopeOf(scopes, raw.url ?? '/') : undefined
      if (found === undefined || found.mode === 'off') done(null)
      else overridePost(raw, found, () => done(null))
    },
  }
  // Fastify's types have no asynchronous strategies.
  app.addConstraintStrategy(strategy as unknown as Parameters<typeof app.addConstraintStrategy>[0])
}

type FindOptions = Parameters<FastifyInstance['findRoute']>[0]

const knownConstraints: ReadonlySet<string> = new Set(['host', 'version'])

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

/** Refuses, logs or counts what was decided before routing. */
export function applyMark(request: FastifyRequest, reply: FastifyReply): Effect | undefined {
  const mark = markOf(request)
  if (mark === undefined) return undefined
  discardUnreadBody(request, reply)
  if (mark.kind === 'refused') {
    // A large form is not refused where the route accepts it.
    if ((request.routeOptions.bodyLimit ?? 0) > mark.unlessAbove) return undefined
    return { rule: 'refused', given: mark.problem.message, refusal: mark.problem }
  }
  if (mark.kind === 'performed') {
    const change = () => {
      request.log = request.log.child({ originalMethod: mark.originalMethod })
      reply.log = request.log
    }
    return { rule: 'performed', given: mark.originalMethod, change }
  }
  return mark.kind === 'observed' ? { rule: 'performed', given: mark.given } : undefined
}

// Other forms get the same 415 as before: a route for JSON must not accept what a page of any site can send.
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

/** Returns the step that converts the values of a form which is performed as another method; `undefined` without a schema. */
export function formConverter(route: RouteOptions): RequestStep | undefined {
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
  // The validator converts in place, and may remove members that only the validator of the body knows.
  const given = Object.fromEntries(
    Object.entries(form).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  )
  // Compiled for the first form: few services get one. The validator of the body reports what is invalid.
  const validate = request.compileValidationSchema(schema, 'querystring')
  const result: unknown = validate(form)
  const values = { ...given, ...(isObject(result) && isObject(result.value) ? result.value : form) }
  // Keep the text where a Number does not have all digits.
  for (const [name, value] of Object.entries(values)) {
    if (isRounded(value)) values[name] = given[name]
    else if (Array.isArray(value) && value.some(isRounded)) values[name] = [given[name]].flat()
  }
  return values
}

function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}
