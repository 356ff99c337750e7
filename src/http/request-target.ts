// The scheme and the authority, up to the path, the query or the fragment (RFC 3986 §3.2).
const absoluteStart = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i
const slash = 47

/** Returns the raw path of a request target, without query and authority (absolute form, RFC 9112 §3.2.2). */
export function pathOf(target: string): string {
  const start = pathStart(target)
  const stop = target.slice(start).search(/[?#]/)
  return stop === -1 ? target.slice(start) : target.slice(start, start + stop)
}

/** Returns the raw query of a request target, without its question mark; `''` if it has none. */
export function queryOf(target: string): string {
  const hash = target.indexOf('#')
  const mark = target.indexOf('?')
  if (mark === -1 || (hash !== -1 && hash < mark)) return ''
  return hash === -1 ? target.slice(mark + 1) : target.slice(mark + 1, hash)
}

function pathStart(target: string): number {
  if (target.charCodeAt(0) === slash) return 0
  return absoluteStart.exec(target)?.[0].length ?? 0
}
