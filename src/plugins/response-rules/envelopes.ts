import { wordsOf } from '../../words/key-names.js'

/** A top-level member, as far as it matters for being part of an envelope. */
export interface EnvelopePart {
  readonly name: string
  /** May its value be a representation: an object or an array? */
  readonly isRoomy: boolean
  /** Its value is a state of the resource, such as `paid`, and no outcome of the request. */
  readonly isState: boolean
}

const contents: ReadonlySet<string> = new Set(['data', 'payload', 'response', 'result'])

// What status, headers and links of the response say, or would say better.
const metadata: ReadonlySet<string> = new Set(
  (
    'api_version code count cursor error errors has_more has_next headers http_status included is_error is_success ' +
    'jsonapi limit link links message messages meta metadata msg next next_cursor next_page offset ok page page_count ' +
    'page_info page_size paging pagination per_page prev previous request_id response_code status status_code ' +
    'success successful timestamp total total_count total_pages trace_id warnings'
  ).split(' '),
)

// JSend's states and their like: they repeat what the status of the response says.
const outcomes: ReadonlySet<string> = new Set(['error', 'fail', 'failure', 'ok', 'success'])

/**
 * The member that wraps the representation; `null` where the object is no envelope. It is one when a member of a name
 * that says nothing (`data`, `payload`, `response`, `result`) holds an object or an array, and all the others are
 * metadata of the exchange. One member of any other name, or a `status` that is a state of the resource, makes it a
 * resource.
 */
export function wrappingMember(parts: readonly EnvelopePart[]): string | null {
  const wrapped = parts.filter((part) => mayWrap(part.name) && part.isRoomy)
  const [first] = wrapped
  if (first === undefined) return null
  const others = parts.filter((part) => !wrapped.includes(part))
  return others.every((part) => isMetadata(part)) ? first.name : null
}

/** Is it a name under which an envelope keeps the representation? Where no member has one, there is no envelope. */
export function mayWrap(name: string): boolean {
  return contents.has(name.toLowerCase())
}

/** Is the value of a `status` an outcome of the request, rather than a state of the resource? */
export function isOutcome(value: unknown): boolean {
  return typeof value !== 'string' || outcomes.has(value.toLowerCase())
}

function isMetadata({ name, isState }: EnvelopePart): boolean {
  const key = wordsOf(name).join('_')
  return /^[_$]/.test(name) || (metadata.has(key) && !(key === 'status' && isState))
}
