import { callerFields } from '../../convention/caller.js'
import { keyStyleOf } from '../../convention/contexts.js'
import type { RouteContext } from '../../convention/convention.js'
import { isRead } from '../../convention/exchange.js'
import { hiddenFieldsOf } from '../../convention/selection.js'
import { varyMerger, withPrivate } from '../../http/header-fields.js'
import { kept } from '../../kept.js'
import { invalid, type OptionsOf, type ResolvedOptions } from '../../options.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { cacheControl, expiresOf } from './cache-control.js'
import type { CachingRule, cachingOptions, cachingRouteOptions } from './options.js'
import { hasCredentials } from './preconditions.js'

type Context = RouteContext<
  ResolvedOptions<typeof cachingOptions> & OptionsOf<typeof cachingRouteOptions>,
  CachingRule,
  unknown
>

export type CachingPlan = ReturnType<typeof planOf>

/** @throws FST_CONV_OPTION_INVALID */
export function planOf(context: Context, route: object) {
  const { app, name, methods, options, modeOf } = context
  const { validators, vary = [], now } = options
  const label = `${name} config.caching`
  const isPreconditionRequired = options.preconditions === 'required'
  if (isPreconditionRequired && validators === undefined)
    invalid(`${label}.preconditions`, "'optional', for the route has no validators", 'required')
  const expires = options.expires === undefined ? null : expiresOf(options.expires, now())
  if (options.expires !== undefined && expires?.isCut !== false)
    invalid(`${label}.expires`, 'an HTTP-date within a year from now', options.expires)
  const isReport = options.mode === 'report'
  const written = options.cacheControl === false ? '' : cacheControl(options.cacheControl)
  // No cache may store the response; a handler cannot change that.
  const isConfidential = written.includes('no-store')
  if (isConfidential && expires !== null)
    invalid(`${label}.expires`, 'none beside noStore (RFC 9111 §5.2.2.5)', options.expires)
  const plan = {
    ...options,
    isReport,
    reads: methods.some(isRead),
    guards: validators !== undefined && !methods.every(isRead),
    /** For requests without and with credentials; `''` for none. */
    cacheControl: written,
    privateCacheControl: written && withPrivate(written),
    isConfidential,
    expires,
    /** Whether the bytes of a response without `ETag` get one. */
    tagsBytes: options.etag && !isConfidential,
    lastModified: options.lastModified ?? (keyStyleOf(app) === 'camelCase' ? 'updatedAt' : 'updated_at'),
    notesMissingDate: options.lastModified !== false && modeOf['last-modified'] === 'report',
    isPreconditionRequired,
    // A function of the app is not called in `report` mode.
    isAuthenticated: isReport ? hasCredentials : options.isAuthenticated,
    /** Adds what responses depend on to `Vary`; known when the app is ready. */
    addVary: null as ReturnType<typeof varyMerger> | null,
    /** Whether a plugin may compress the response; known when the app is ready. */
    isCompressed: false,
  }
  // A plugin that is registered later may authenticate the route, or compress its responses.
  if (plan.reads)
    context.atReady(() => {
      const callers = callerFields.get(route) ?? []
      plan.isCompressed = app.hasReplyDecorator('compress')
      const names = [...vary, ...callers, ...(plan.isCompressed ? ['accept-encoding'] : [])]
      if (names.length > 0) plan.addVary = varyMerger(names)
      findShown(context, route, plan.lastModified, callers.length > 0)
    })
  return plan
}

function findShown(
  { options: { cacheControl: given }, addFinding }: Context,
  route: object,
  member: string | false,
  hasCallers: boolean,
): void {
  const hidden = hiddenFieldsOf(route)
  if (member !== false && Object.hasOwn(hidden, member)) {
    const problem = `${member} is hidden by config.fields, and Last-Modified shows it`
    addFinding('private', problem, 'caching: { lastModified: false }, or a member that is not hidden')
  }
  // RFC 9111 §3.5: these let shared caches use one response for several callers.
  if (given === false || (given.public !== true && given.sMaxAge === undefined)) return
  const ofSome = Object.keys(hidden).filter((path) => hidden[path] !== true)
  const problems = [
    hasCallers &&
      'callers are authenticated, and public or sMaxAge lets shared caches store their responses (RFC 9111 §3.5)',
    ofSome.length > 0 &&
      `${ofSome.join(', ')} is hidden from some callers, and a shared cache answers all of them with one response`,
  ]
  for (const problem of problems)
    if (problem !== false) addFinding('private', problem, 'cacheControl without public and sMaxAge')
}

const header = (description: string) => ({ type: 'string', description })
const tag = { ETag: header('Identifies what is stored, for If-None-Match and If-Match (RFC 9110 §8.8.3)') }
const date = { 'Last-Modified': header('When it last changed (RFC 9110 §8.8.2)') }
const varyHeader = { Vary: header('The request header fields that the response depends on') }

const expiresHeader = {
  Expires: header('When it expires, for caches that do not know max-age (RFC 9111 §5.3)'),
}

const condition = (description: string) => ({ schema: header(description) })
const ofAll = {
  'If-Match': condition('The ETag of what was read; if it has changed since, the response is 412'),
  'If-Unmodified-Since': condition('The Last-Modified of what was read; only without If-Match'),
}
const ofReads = {
  'If-None-Match': condition('The ETag of the copy of the client: if it is current, the response is 304'),
  'If-Modified-Since': condition('The Last-Modified of the copy; only without If-None-Match'),
  ...ofAll,
}
const ofWrites = { ...ofAll, 'If-None-Match': condition('*: only if there is nothing yet') }

// Most routes are described alike.
const descriptions = new Map<string, RouteDescription>()

export function describeCaching(plan: CachingPlan): RouteDescription {
  const { reads, guards, tagsBytes, validators, validatorsOf, vary = [], isPreconditionRequired } = plan
  const isTagged = tagsBytes || validators !== undefined || validatorsOf !== undefined
  const hasValidators = reads || validatorsOf !== undefined
  const varies = reads && vary.length > 0
  const expires = reads && plan.expires !== null
  const key = [reads, guards, isTagged, hasValidators, varies, expires, isPreconditionRequired].join()
  return kept(descriptions, key, () => ({
    allHeaders: { 'Cache-Control': header('How caches may store the response (RFC 9111 §5.2.2)') },
    headers: {
      ...(hasValidators && { ...(isTagged && tag), ...date }),
      ...(varies && varyHeader),
      ...(expires && expiresHeader),
    },
    ...(reads && {
      statuses: { 304: 'Not modified: the copy of the client is current' },
      // A 304 with a tag has no date.
      headersOf: { 304: { ...(isTagged ? tag : date), ...varyHeader } },
    }),
    parameters: { ...(reads && ofReads), ...(guards && ofWrites) },
    problems: problemsOf({
      ...((reads || guards) && { 'precondition-failed': 'A precondition of the request does not hold' }),
      ...(guards &&
        isPreconditionRequired && {
          'precondition-required': 'A precondition is needed: If-Match, or If-None-Match: *',
        }),
    }),
  }))
}
