import { createHash } from 'node:crypto'
import type { normalizeIP as normalizeAddress } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import type { CallerKey, ResolvedRateLimit } from './options.js'

/** The key of a request that is not counted. */
export const uncounted = ''

/** The key of all requests that have no address: peers on a Unix domain socket. */
const noAddress = 'unix'

/** The type of Fastify promises an address, which a Unix domain socket does not have. */
interface WithAddress {
  readonly ip: string | undefined
}

/** Longer keys are kept as their digest: a client may choose how long they are, and they stay in memory. */
const longestKept = 64

/**
 * Who a request counts for, as a key of bounded length: an address cannot be taken for a key of the app's own.
 *
 * @param scope what stands before each key, for quotas that share a store
 * @param normalizeIP the function of @fastify/rate-limit, which is loaded at registration
 */
export function callerKeys(
  { key, ipv6Subnet }: ResolvedRateLimit,
  scope: string,
  normalizeIP: typeof normalizeAddress,
): (request: FastifyRequest) => string | Promise<string> {
  const ofAddress = ({ ip }: WithAddress): string =>
    `${scope}${ip === undefined ? noAddress : normalizeIP(ip, ipv6Subnet)}`
  if (key === undefined) return ofAddress
  return async function callerKey(request) {
    const own: CallerKey = await key(request)
    if (own === null) return uncounted
    return own === undefined ? ofAddress(request) : `${scope}key:${bounded(String(own))}`
  }
}

function bounded(key: string): string {
  return key.length <= longestKept ? key : createHash('sha256').update(key).digest('base64url')
}
