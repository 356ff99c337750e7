import { isRepeated } from '../../http/raw-headers.js'

/** The part of a request that has its credentials. */
export interface CredentialFields {
  readonly headers: { readonly authorization?: string | undefined }
  readonly rawHeaders: readonly string[]
}

/** The credentials of a request: a token, `none` of the scheme Bearer, or `malformed` ones. */
export type Credentials = { readonly token: string } | 'none' | 'malformed'

/** Maximum number of characters of a token. Node.js has a limit of its own for all header fields, 16 KB by default. */
const maxTokenLength = 16_384

// RFC 6750 §2.1: b64token. RFC 9110 §11.1: the name of the scheme has no case.
const scheme = /^bearer(?: |$)/i
const form = /^bearer +([\w.~+/-]+=*) *$/i

/** Returns the credentials of a request. */
export function credentialsOf({ headers, rawHeaders }: CredentialFields): Credentials {
  const { authorization } = headers
  if (authorization === undefined) return 'none'
  // Node.js keeps the first of several fields, and a proxy may have checked another one.
  if (isRepeated(rawHeaders, 'authorization')) return 'malformed'
  if (!scheme.test(authorization)) return 'none'
  const token = form.exec(authorization)?.[1]
  return token === undefined || token.length > maxTokenLength ? 'malformed' : { token }
}
