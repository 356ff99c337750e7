// Clients and proxies limit the length of a header field.
const longestResource = 4_096

/** Returns the URL of a resource: a path of the service, or an http or https URL of any host. */
export function referenceOf(resource: unknown): string | null {
  if (typeof resource !== 'string' || resource.length > longestResource) return null
  // The parser would remove them silently.
  if (controlOrSpace.test(resource)) return null
  if (!URL.canParse(resource, ownOrigin)) return null
  const { origin, protocol, href } = new URL(resource, ownOrigin)
  // A path that begins with two slashes or backslashes names another host. The parser resolves dots, so the result can
  // begin with two slashes although the input did not: '/..//host'.
  if (resource.startsWith('/')) {
    const path = href.slice(ownOrigin.length)
    return origin === ownOrigin && !path.startsWith('//') ? path : null
  }
  return /^https?:\/\//i.test(resource) && (protocol === 'http:' || protocol === 'https:') ? href : null
}

const controlOrSpace = /[^!-~\u0080-\uffff]/

// A reserved host name (RFC 2606 §2).
const ownOrigin = 'http://service.invalid'
