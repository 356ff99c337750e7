/**
 * The response headers of the conventions that a page in another origin may read. A browser lets it read seven others
 * unasked, `Cache-Control` and `Last-Modified` among them (Fetch §3.2.6, CORS-safelisted response-header names).
 */
export const conventionHeaders: readonly string[] = Object.freeze([
  'Location',
  'Operation-Location',
  'Link',
  'ETag',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Deprecation',
  'Sunset',
  'Preference-Applied',
  'Idempotent-Replayed',
])

/** The value of `Access-Control-Expose-Headers`: the headers of the conventions and these, each once. */
export function exposedHeaders(own: readonly string[]): string {
  const known = new Set<string>()
  return [...conventionHeaders, ...own]
    .filter((name) => {
      const key = name.toLowerCase()
      return !known.has(key) && known.add(key)
    })
    .join(', ')
}
