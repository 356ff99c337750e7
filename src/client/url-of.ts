import { OperationError } from './operation-error.js'

/**
 * Returns an absolute URL of http or https.
 *
 * @param base the base of a relative URL
 * @param isOwn whether it needs the origin of `base`, because credentials are sent to it
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
