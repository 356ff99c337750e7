/**
 * Whether a text is an origin as browsers send it (RFC 6454 §6.2): scheme, host and port in lowercase, without the default
 * port, and nothing else. `null` is not one, because all pages in sandboxes have it.
 */
export function isWebOrigin(text: string): boolean {
  if (!originShape.test(text)) return false
  // A URL parser returns an origin for the schemes of the web only; other schemes are checked by the shape.
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}

const originShape = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*A-Z]+$/
