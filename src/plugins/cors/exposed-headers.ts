/**
 * The response headers of the conventions that a page of another origin may read, besides the seven that browsers always
 * expose, such as `Cache-Control` and `Last-Modified` (Fetch §3.2.6, CORS-safelisted response-header names).
 */
const conventionHeaders: readonly string[] = Object.freeze([
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

/** Returns the value of `Access-Control-Expose-Headers`: the headers of the conventions and others, each once. */
export function exposedHeaders(own: readonly string[]): string {
  const known = new Set<string>()
  return [...conventionHeaders, ...own]
    .filter((name) => {
      const key = name.toLowerCase()
      return !known.has(key) && known.add(key)
    })
    .join(', ')
}
