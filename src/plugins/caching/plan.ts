import type { AnyRequest } from '../../convention/any-request.js'
import { callerFields } from '../../convention/caller.js'
import { keyStyleOf } from '../../convention/contexts.js'
import type { RouteContext } from '../../convention/convention.js'
import { hiddenFieldsOf } from '../../convention/selection.js'
import { varyMerger, withPrivate } from '../../http/header-fields.js'
import { invalid, type OptionsOf, type ResolvedOptions } from '../../options.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { cacheControl, expiresOf } from './cache-control.js'
import {
  type CachingRule,
  type cachingOptions,
  type cachingRouteOptions,
  type FindValidators,
  hasCredentials,
  type ReadValidators,
} from './options.js'
import { isRead } from './preconditions.js'

/** What the steps of a route do, decided at boot. */
export interface CachingPlan {
  readonly isReport: boolean
  /** Whether the route has a method that reads. */
  readonly reads: boolean
  /** `Cache-Control` of responses to requests without and with credentials; `null` for none. */
  readonly cacheControl: string | null
  readonly privateCacheControl: string | null
  /** Whether no cache may store the response, whatever the handler says. */
  readonly isConfidential: boolean
  /** `Expires`, and the same in milliseconds since the epoch; it is not sent after that time. */
  readonly expires: { readonly text: string; readonly at: number } | null
  /** Whether the bytes of a response without `ETag` get one. */
  readonly tagsBytes: boolean
  /** Member with the time of the last modification. */
  readonly lastModified: string | false
  /** Whether a 200 without `Last-Modified` is reported. */
  readonly notesMissingDate: boolean
  readonly validators: FindValidators | undefined
  readonly validatorsOf: ReadValidators | undefined
  /** Whether a write without a precondition is a 428. */
  readonly isPreconditionRequired: boolean
  readonly isAuthenticated: AnyRequest<[], boolean>
  /** Adds the names to `Vary` that responses depend on, if there are any. Known when the app is ready. */
  addVary: ReturnType<typeof varyMerger> | null
  /** Whether a plugin may compress the response. Known when the app is ready. */
  isCompressed: boolean
  readonly now: () => number
}

type Context = RouteContext<
  ResolvedOptions<typeof cachingOptions> & OptionsOf<typeof cachingRouteOptions>,
  CachingRule,
  unknown
> & { readonly route: object }

/** Returns the plan of a route, and adds its findings. @throws FST_CONV_OPTION_INVALID */
export function planOf(context: Context): CachingPlan {
  const { app, name, methods, route, options, modeOf } = context
  const { validators, expires, vary = [] } = options
  const isReport = options.mode === 'report'
  const isPreconditionRequired = options.preconditions === 'required'
  const label = `${name} config.caching`
  if (isPreconditionRequired && validators === undefined) {
    invalid(`${label}.preconditions`, "'optional', for the route has no validators", 'required')
  }
  const expiry = expires === undefined ? null : expiresOf(expires, options.now())
  if (expires !== undefined && expiry?.isCut !== false) {
    invalid(`${label}.expires`, 'an HTTP-date within a year from now', expires)
  }
  const written = options.cacheControl === false ? '' : cacheControl(options.cacheControl)
  const isConfidential = written.includes('no-store')
  const reads = methods.some(isRead)
  const plan: CachingPlan = {
    isReport,
    reads,
    cacheControl: written || null,
    privateCacheControl: written === '' ? null : withPrivate(written),
    isConfidential,
    expires: expiry,
    tagsBytes: options.etag && !isConfidential,
    lastModified: options.lastModified ?? (keyStyleOf(app) === 'camelCase' ? 'updatedAt' : 'updated_at'),
    notesMissingDate: options.lastModified !== false && modeOf['last-modified'] === 'report',
    validators,
    validatorsOf: options.validatorsOf,
    isPreconditionRequired,
    // A function of the app is not called in `report` mode.
    isAuthenticated: isReport ? hasCredentials : options.isAuthenticated,
    addVary: null,
    isCompressed: false,
    now: options.now,
  }
  if (!reads) return plan
  // A plugin that is registered later may authenticate the route, or compress its responses.
  context.atReady(() => {
    const callers = callerFields.get(route) ?? []
    plan.isCompressed = app.hasReplyDecorator('compress')
    const names = [...vary, ...callers, ...(plan.isCompressed ? ['accept-encoding'] : [])]
    if (names.length > 0) plan.addVary = varyMerger(names)
    findShown(context, plan, callers.length > 0)
  })
  return plan
}

/** Adds the findings of what a route shows to others than its caller. */
function findShown({ route, options, addFinding }: Context, plan: CachingPlan, hasCallers: boolean): void {
  const hidden = hiddenFieldsOf(route)
  if (plan.lastModified !== false && Object.hasOwn(hidden, plan.lastModified)) {
    const problem = `${plan.lastModified} is hidden by config.fields, and Last-Modified shows it`
    addFinding('private', problem, 'caching: { lastModified: false }, or a member that is not hidden')
  }
  const { cacheControl: given } = options
  // RFC 9111 §3.5: these let shared caches use one response for several callers.
  if (given === false || (given.public !== true && given.sMaxAge === undefined)) return
  const instead = 'cacheControl without public and sMaxAge'
  if (hasCallers) {
    const problem =
      'callers are authenticated, and public or sMaxAge lets shared caches store their responses (RFC 9111 §3.5)'
    addFinding('private', problem, instead)
  }
  const ofSome = Object.keys(hidden).filter((path) => hidden[path] !== true)
  if (ofSome.length > 0) {
    const problem = `${ofSome.join(', ')} is hidden from some callers, and a shared cache answers all of them with one response`
    addFinding('private', problem, instead)
  }
}

const cacheControlField = header('Cache-Control', 'How caches may store the response (RFC 9111 §5.2.2)')
const readTag = header('ETag', 'Identifies this representation (RFC 9110 §8.8.3)')
const readDate = header('Last-Modified', 'When it last changed (RFC 9110 §8.8.2)')
const writeTag = header('ETag', 'Names what is stored now, for the next If-Match (RFC 9110 §8.8.3)')
const varyHeader = header('Vary', 'The request header fields that the response depends on')

const readParameters = {
  ...condition('If-None-Match', 'The ETag of the copy of the client: if it is current, the response is 304'),
  ...condition('If-Modified-Since', 'The Last-Modified of the copy; only without If-None-Match'),
  ...condition('If-Match', 'The ETag that the client expects; for another one, the response is 412'),
  ...condition('If-Unmodified-Since', 'The Last-Modified that the client expects; only without If-Match'),
}

const writeParameters = {
  ...condition('If-Match', 'The ETag of what was read; if it has changed since, nothing is written'),
  ...condition('If-Unmodified-Since', 'The Last-Modified of what was read; only without If-Match'),
  ...condition('If-None-Match', '*: only if there is nothing yet'),
}

/** Returns what caching adds to a route: its header fields, 304 to reads, 412, and 428 if a precondition is required. */
export function describeCaching(
  methods: readonly string[],
  plan: Pick<CachingPlan, 'tagsBytes' | 'validators' | 'validatorsOf' | 'isPreconditionRequired'>,
): RouteDescription {
  const { tagsBytes, validators, validatorsOf, isPreconditionRequired } = plan
  const reads = methods.some(isRead)
  const guards = validators !== undefined && !methods.every(isRead)
  const isTagged = tagsBytes || validators !== undefined || validatorsOf !== undefined
  const ofRead = { ...(isTagged ? readTag : {}), ...readDate }
  return {
    allHeaders: cacheControlField,
    headers: reads ? ofRead : validatorsOf !== undefined ? { ...writeTag, ...readDate } : {},
    ...(reads && {
      statuses: { 304: 'Not modified: the copy of the client is current' },
      // Beside a tag it has no date.
      headersOf: { 304: { ...(isTagged ? readTag : readDate), ...varyHeader } },
    }),
    parameters: { ...(reads && readParameters), ...(guards && writeParameters) },
    problems: problemsOf({
      ...((reads || guards) && { 'precondition-failed': 'A precondition of the request does not hold' }),
      ...(guards &&
        isPreconditionRequired && {
          'precondition-required': 'A precondition is needed: If-Match, or If-None-Match: *',
        }),
    }),
  }
}

function header(name: string, description: string) {
  return { [name]: { type: 'string', description } }
}

function condition(name: string, description: string) {
  return { [name]: { schema: { type: 'string', description } } }
}
