import { isObject } from '../../options.js'
import { isSecure } from './options.js'
import { IssuerUnavailable } from './verified-token.js'

/** Returns the URLs at which an issuer may have its metadata, in the order in which they are tried. */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname, search } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    // RFC 8414 §3.1: between the host and the path.
    `${origin}/.well-known/oauth-authorization-server${path}${search}`,
    // OpenID Connect Discovery 1.0 §4.1: after the path.
    `${origin}${path}/.well-known/openid-configuration${search}`,
  ]
}

/** Returns the URL of an endpoint from the metadata of an issuer. */
export function endpointOf(
  metadata: unknown,
  name: 'jwks_uri' | 'introspection_endpoint',
  { issuer, allowHttp }: { readonly issuer: string; readonly allowHttp: boolean },
): string {
  // RFC 8414 §3.3
  if (!isObject(metadata) || metadata.issuer !== issuer)
    throw new IssuerUnavailable(`the metadata of ${issuer} is of another issuer`)
  const { [name]: endpoint } = metadata
  if (typeof endpoint !== 'string' || !isSecure(endpoint, allowHttp))
    throw new IssuerUnavailable(
      `the metadata of ${issuer} has no ${name} that may be used: https is required`,
    )
  return endpoint
}
