/**
 * Is it an origin as a browser sends it (RFC 6454 §6.2): scheme, host and port, the default port left out, in lowercase,
 * and nothing behind? `null` is none: any page in a sandbox has that one.
 */
export function isWebOrigin(text: string): boolean {
  if (!originShape.test(text)) return false
  // A URL parser knows the origin of the schemes of the web alone; those of apps have only their shape.
  return !/^https?:/.test(text) || (URL.canParse(text) && new URL(text).origin === text)
}

const originShape = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*A-Z]+$/
