import { createHash } from 'node:crypto'
import { BoundedCache } from '../../bounded-cache.js'
import { knownSubject } from '../../fastify/caller.js'
import { type MaybeAsync, withValue } from '../../maybe-async.js'
import type { CallerKey, Request, ResolvedRateLimit } from './options.js'

export interface QuotaCaller {
  /** Bounded in length; keys of an address, of a subject and of the app are never equal. */
  readonly key: string
  /** What a function for `max` gets: the own key or the known subject; empty for an address. */
  readonly id: string
}

/** Returns `null` for a request that does not count. */
export type CallerOf = (request: Request) => MaybeAsync<QuotaCaller | null>

/** Stands for the address of all requests without one: those on a Unix domain socket. */
const noAddress = 'unix'

// Parsing an address takes longer than all else that counting does.
const keptAddresses = 1000

/** Longer keys are replaced by a digest: clients may choose them, and they stay in memory. */
const maxKeyLength = 64

/** @param normalizeIP that of @fastify/rate-limit, which is loaded at registration */
export function callers(
  key: ResolvedRateLimit['key'],
  normalizeIP: (ip: string, ipv6Subnet: number) => string,
): CallerOf {
  const addresses = new BoundedCache<string, QuotaCaller>(keptAddresses)

  // Fastify's type promises an address.
  function address({ ip = noAddress }: { readonly ip: string | undefined }): QuotaCaller {
    const known = addresses.get(ip)
    if (known !== undefined) return known
    // A household or a rented server has a whole /64.
    const normalized = ip === noAddress ? ip : normalizeIP(ip, 64)
    const caller = { key: `address:${bounded(normalized)}`, id: '' }
    addresses.set(ip, caller)
    return caller
  }

  if (key !== undefined) {
    return function callerOfKey(request) {
      return withValue(key(request), (own: CallerKey) => {
        if (own === null) return null
        return own === undefined ? address(request) : callerWith('key', String(own))
      })
    }
  }
  return function callerOfRequest(request) {
    const subject = knownSubject.get(request.server)?.(request) ?? null
    return subject === null ? address(request) : callerWith('subject', subject)
  }
}

function callerWith(kind: 'key' | 'subject', id: string): QuotaCaller {
  return { key: `${kind}:${bounded(id)}`, id }
}

function bounded(key: string): string {
  return key.length <= maxKeyLength ? key : createHash('sha256').update(key).digest('base64url')
}
