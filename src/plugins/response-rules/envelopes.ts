import { wordsOf } from '../../words/key-names.js'

/** A top-level member that may be part of an envelope. */
export interface EnvelopePart {
  readonly name: string
  /** Whether its value may be a representation: an object or an array. */
  readonly canWrap: boolean
  /** Whether its value is a state of the resource, such as `paid`, rather than an outcome of the request. */
  readonly isState: boolean
}

const contents: ReadonlySet<string> = new Set(['data', 'payload', 'response', 'result'])

// These belong into the status, the header fields and the links of the response.
const metadata: ReadonlySet<string> = new Set(
  (
    'api_version code count cursor error errors has_more has_next headers http_status included is_error is_success ' +
    'jsonapi limit link links message messages meta metadata msg next next_cursor next_page offset ok page page_count ' +
    'page_info page_size paging pagination per_page prev previous request_id response_code status status_code ' +
    'success successful timestamp total total_count total_pages trace_id warnings'
  ).split(' '),
)

// The states of JSend and similar ones, which repeat the status of the response.
const outcomes: ReadonlySet<string> = new Set(['error', 'fail', 'failure', 'ok', 'success'])

/**
 * Returns the member that wraps the representation; `null` if the object is not an envelope. It is one if a member with a
 * generic name (`data`, `payload`, `response`, `result`) is an object or an array, and all others are metadata of the
 * exchange. A member with any other name, or a `status` that is a state of the resource, makes it a resource.
 */
export function wrappingMember(parts: readonly EnvelopePart[]): string | null {
  const wrapped = parts.filter((part) => mayWrap(part.name) && part.canWrap)
  const [first] = wrapped
  if (first === undefined) return null
  const others = parts.filter((part) => !wrapped.includes(part))
  return others.every((part) => isMetadata(part)) ? first.name : null
}

/** Whether a member of this name may wrap the representation. */
export function mayWrap(name: string): boolean {
  return contents.has(name.toLowerCase())
}

/** Whether the value of a `status` is an outcome of the request, rather than a state of the resource. */
export function isOutcome(value: unknown): boolean {
  return typeof value !== 'string' || outcomes.has(value.toLowerCase())
}

function isMetadata({ name, isState }: EnvelopePart): boolean {
  const key = wordsOf(name).join('_')
  return /^[_$]/.test(name) || (metadata.has(key) && !(key === 'status' && isState))
}
