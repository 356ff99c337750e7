/** The target of the link with `rel="next"` in a `Link` header; `null` where there is none. */
export function nextLink(header: unknown): string | null {
  return /<([^>]*)>; rel="next"/.exec(String(header ?? ''))?.[1] ?? null
}
