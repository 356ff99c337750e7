import { pathOf, queryOf } from '../../http/request-target.js'
import type { AliasPlace } from './alias-place.js'

/**
 * The request target with the id in place of the alias, query included; `null` where the alias is not found: in the
 * place that the route has it in, or, where the server mounts its paths elsewhere, in the same place from behind.
 */
export function ownTarget(
  target: string,
  { before, behind }: AliasPlace,
  alias: string,
  id: string,
): string | null {
  const segments = pathOf(target).replace(leadingSlashes, '/').split('/')
  const at = [before + 1, segments.length - 1 - behind].find((index) => segments[index] === alias)
  if (at === undefined) return null
  segments[at] = segmentOf(id)
  const query = queryOf(target)
  return query === '' ? segments.join('/') : `${segments.join('/')}?${query}`
}

/** An id as a segment of a path: what RFC 3986 §3.3 lets stand is not encoded. */
function segmentOf(id: string): string {
  if (plain.test(id)) return id
  return encodeURIComponent(id).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
}

const plain = /^[\w-]+$/

// Two in front would be a host (RFC 3986 §4.2).
const leadingSlashes = /^[/\\]+/
