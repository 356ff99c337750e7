import { OperationError } from './operation-error.js'

/**
 * The URL that a service means, of http or https.
 *
 * @param base what it is relative to
 * @param isOwn whether it has to be of the same origin as `base`, because credentials go along
 * @throws OperationError `untrusted-url`
 */
export function urlOf(reference: string | URL, base: string, isOwn?: boolean): string {
  try {
    const { href, origin } = new URL(reference, base)
    if (/^http/.test(origin) && !(isOwn && origin !== new URL(base).origin)) return href
  } catch {
    // An invalid URL is not trusted.
  }
  throw new OperationError('untrusted-url', reference)
}
