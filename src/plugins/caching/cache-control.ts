/**
 * Directives of a `Cache-Control` in a response: RFC 9111 §5.2.2, RFC 5861 and RFC 8246. Absent and `false` are the
 * same. Times are whole seconds.
 */
export interface CacheDirectives {
  /** Any cache may store the response, also where its status or the credentials of the request speak against it. */
  readonly public?: boolean | undefined
  /** Only the caller's own cache may store the response; of listed header fields: these only. */
  readonly private?: boolean | readonly string[] | undefined
  /** To be validated before each use; of listed header fields: these only. */
  readonly noCache?: boolean | readonly string[] | undefined
  /** No cache may store anything of the response. */
  readonly noStore?: boolean | undefined
  /** No intermediary may transform the content, compression included. */
  readonly noTransform?: boolean | undefined
  /** Never to be used stale, not even where the server is out of reach. */
  readonly mustRevalidate?: boolean | undefined
  /** The same for shared caches only. */
  readonly proxyRevalidate?: boolean | undefined
  /** To be stored only by caches that know the status code; goes with {@link CacheDirectives.noStore}. */
  readonly mustUnderstand?: boolean | undefined
  /** How long the response is fresh. */
  readonly maxAge?: number | undefined
  /** How long it is fresh in shared caches, which then never use it stale. */
  readonly sMaxAge?: number | undefined
  /** How long it may be used stale while it is validated in the background (RFC 5861 §3). */
  readonly staleWhileRevalidate?: number | undefined
  /** How long it may be used stale where the server answers with an error (RFC 5861 §4). */
  readonly staleIfError?: number | undefined
  /** Does not change as long as it is fresh: not to be validated even on a reload (RFC 8246). */
  readonly immutable?: boolean | undefined
}

/** The directives by the names that `Cache-Control` has for them, in the order in which they are written. */
export const directiveNames: Readonly<Record<keyof CacheDirectives, string>> = Object.freeze({
  public: 'public',
  private: 'private',
  noCache: 'no-cache',
  noStore: 'no-store',
  noTransform: 'no-transform',
  mustRevalidate: 'must-revalidate',
  proxyRevalidate: 'proxy-revalidate',
  mustUnderstand: 'must-understand',
  maxAge: 'max-age',
  sMaxAge: 's-maxage',
  staleWhileRevalidate: 'stale-while-revalidate',
  staleIfError: 'stale-if-error',
  immutable: 'immutable',
})

/**
 * The value of `Cache-Control` for directives without faults (see `cacheControlFaults`); `''` for none, where no header
 * is to be sent. To be called once per set of directives, not once per request.
 */
export function cacheControl(directives: CacheDirectives): string {
  const written: string[] = []
  for (const [key, name] of Object.entries(directiveNames)) {
    const value = directives[key as keyof CacheDirectives]
    if (value === undefined || value === false) continue
    // RFC 9111 §5.2.2.4, §5.2.2.7: field names in the quoted form, also where there is only one.
    const argument =
      typeof value === 'number' ? `=${value}` : typeof value === 'object' ? `="${value.join(', ')}"` : ''
    written.push(`${name}${argument}`)
  }
  return written.join(', ')
}
