import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import type { CachingPlan } from './plan.js'
import { isRead } from './preconditions.js'

const cacheControl = header('Cache-Control', 'How caches may store the response (RFC 9111 §5.2.2)')
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
    allHeaders: cacheControl,
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
