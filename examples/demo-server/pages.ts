/**
 * Returns what browsers are told of a page: what it may load, and that no page is around it. The package leaves pages alone,
 * as the policy of an API would break them.
 */
export function pageHeaders(policy: string, referrer: 'no-referrer' | 'same-origin') {
  return {
    'content-security-policy': `${policy};base-uri 'none';frame-ancestors 'none'`,
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': referrer,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}
