import type { ResolvedBearer } from './options.js'

/** Returns the URL of the metadata of a resource (RFC 9728 §3.1). */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname, search } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}${search}`
}

/** Returns the metadata of a resource as JSON (RFC 9728 §2). */
export function resourceMetadata(
  { resource, issuer, resourceMetadata: further }: ResolvedBearer,
  scopes: readonly string[],
): string {
  const supported = [...new Set(scopes)].sort()
  return JSON.stringify({
    resource,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    ...(supported.length === 0 ? {} : { scopes_supported: supported }),
    ...further,
  })
}
