import { createHash } from 'node:crypto'
import type { normalizeIP as normalize } from '@fastify/rate-limit'
import { BoundedCache } from '../../bounded-cache.js'
import type { CallerKey, ResolvedRateLimit } from './options.js'

/** The key of a request that is not counted. */
export const uncounted = ''

/** The key of all requests without an address: those on a Unix domain socket. */
const noAddress = 'unix'

/** Addresses whose keys are kept: parsing one takes longer than all else that counting does. */
const keptAddresses = 1000

/** Longer keys are replaced by a digest: clients may choose them, and they stay in memory. */
const maxKeyLength = 64

type Request = Parameters<NonNullable<ResolvedRateLimit['key']>>[0]

/**
 * Returns a function that returns the key by which a request counts. It has a bounded length, and a key of the app is
 * never equal to an address.
 *
 * @param scope a prefix of each key, for quotas that share a store
 * @param normalizeIP the function of @fastify/rate-limit, which is loaded at registration
 */
export function callerKeys(
  { key, ipv6Subnet }: ResolvedRateLimit,
  scope: string,
  normalizeIP: typeof normalize,
): (request: Request) => string | Promise<string> {
  const keys = new BoundedCache<string, string>(keptAddresses)

  // Fastify's type promises an address.
  function addressKey({ ip }: { readonly ip: string | undefined }): string {
    if (ip === undefined) return scope + noAddress
    const known = keys.get(ip)
    if (known !== undefined) return known
    const address = scope + normalizeIP(ip, ipv6Subnet)
    keys.set(ip, address)
    return address
  }

  if (key === undefined) return addressKey
  return async function callerKey(request) {
    const own: CallerKey = await key(request)
    if (own === null) return uncounted
    return own === undefined ? addressKey(request) : `${scope}key:${bounded(String(own))}`
  }
}

function bounded(key: string): string {
  return key.length <= maxKeyLength ? key : createHash('sha256').update(key).digest('base64url')
}
