import { privateOnly } from '../../http/cache-control.js'
import { isField } from '../../http/error-headers.js'
import { type AliasPlace, ownTarget } from './alias-path.js'

export interface ResolvedAlias {
  readonly alias: string
  readonly id: string
}

interface AliasResponse {
  readonly method: string
  readonly target: string
  readonly status: number
  readonly hasContent: boolean
  get(name: string): string | undefined
}

export function headersUnderAlias(
  { alias, id }: ResolvedAlias,
  place: AliasPlace,
  addVary: (current: string | undefined) => string,
  response: AliasResponse,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'cache-control': privateOnly(response.get('cache-control')) }
  const vary = addVary(response.get('vary'))
  if (vary !== '') headers.vary = vary
  const etag = response.get('etag')
  if (etag !== undefined) headers.etag = withCaller(etag, id)
  if (isRepresentation(response) && response.get('content-location') === undefined) {
    const target = ownTarget(response.target, place, alias, id)
    if (target !== null && isField('content-location', target)) headers['content-location'] = target
  }
  return headers
}

/** Whether a response is what a GET of the record's own URL returns (RFC 9110 §8.7). */
function isRepresentation({ method, status, hasContent }: AliasResponse): boolean {
  if (method === 'GET' || method === 'HEAD')
    return status === 304 || (status >= 200 && status < 300 && status !== 204)
  return (method === 'PUT' || method === 'PATCH') && (status === 200 || status === 201) && hasContent
}

const mark = ';self='

export function withCaller(etag: string, id: string): string {
  const end = endOf(id)
  return etag.endsWith('"') && !etag.endsWith(end) ? `${etag.slice(0, -1)}${end}` : etag
}

/** Returns the tags of a precondition without this caller. The tags of other callers stay, and match nothing. */
export function withoutCaller(tags: string, id: string): string {
  return tags.includes(mark) ? tags.replaceAll(endOf(id), '"') : tags
}

function endOf(id: string): string {
  return `${mark}${encodeURIComponent(id)}"`
}
