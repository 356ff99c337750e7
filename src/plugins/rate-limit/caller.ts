import { createHash } from 'node:crypto'
import { LruMap } from 'toad-cache'
import { knownSubject } from '../../convention/caller.js'
import {
  inTime,
  isPromise,
  type MaybeAsync,
  type Schedule,
  scheduleTimeout,
  withValue,
} from '../../time/async.js'
import { type Limits, limitsWith, patience } from './counter.js'
import { type CallerKey, isMax, type Quota, type Request, type ResolvedRateLimit } from './options.js'

export interface QuotaCaller {
  /** Bounded in length; keys of an address, of a subject and of the app are never equal. */
  readonly key: string
  /** What a function for `max` gets: the own key or the known subject; empty for an address. */
  readonly id: string
}

/** Returns `null` for a request that does not count. */
type CallerOf = (request: Request) => MaybeAsync<QuotaCaller | null>

/** Stands for the address of all requests without one: those on a Unix domain socket. */
const noAddress = 'unix'

// Parsing an address takes longer than all else that counting does.
const keptAddresses = 1000

// Some proxies write the port into X-Forwarded-For.
const withPort = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/

/** Longer keys are replaced by a digest: clients may choose them, and they stay in memory. */
const maxKeyLength = 64

/** @param normalizeIP that of @fastify/rate-limit, which is loaded at registration */
export function callers(
  key: ResolvedRateLimit['key'],
  normalizeIP: (ip: string, ipv6Subnet: number) => string,
): CallerOf {
  const addresses = new LruMap<QuotaCaller>(keptAddresses)

  // Fastify's type promises an address.
  function address({ ip = noAddress }: { readonly ip: string | undefined }): QuotaCaller {
    const known = addresses.get(ip)
    if (known !== undefined) return known
    // A household or a rented server has a whole /64.
    const normalized = ip === noAddress ? ip : normalizeIP(ip.replace(withPort, '$1$2'), 64)
    const caller = { key: `address:${bounded(normalized)}`, id: '' }
    addresses.set(ip, caller)
    return caller
  }

  return function callerOf(request) {
    if (key === undefined) {
      const subject = knownSubject.get(request.server)?.(request) ?? null
      return subject === null ? address(request) : callerWith('subject', subject)
    }
    return withValue(key(request), (own: CallerKey) => {
      if (own === null) return null
      return own === undefined ? address(request) : callerWith('key', String(own))
    })
  }
}

function callerWith(kind: 'key' | 'subject', id: string): QuotaCaller {
  return { key: `${kind}:${bounded(id)}`, id }
}

function bounded(key: string): string {
  return key.length <= maxKeyLength ? key : createHash('sha256').update(key).digest('base64url')
}

/** Number of callers that each quota keeps in memory. */
export const keptCallers = 10_000

/** Milliseconds that the result of a function for `max` is used. */
const maxAge = 60_000

type LimitsOf = (request: Request, caller: QuotaCaller) => MaybeAsync<Limits>

export function limitsOf(
  quotas: readonly Quota[],
  now: () => number = () => Date.now(),
  schedule: Schedule = scheduleTimeout,
): LimitsOf {
  const fixed = quotas.flatMap(({ max }) => (typeof max === 'number' ? [max] : []))
  if (fixed.length === quotas.length) {
    const limits = limitsWith(quotas, fixed)
    return () => limits
  }
  const known = new LruMap<{ readonly limits: MaybeAsync<Limits>; readonly from: number }>(keptCallers)

  function lookUp(request: Request, caller: QuotaCaller): MaybeAsync<Limits> {
    const found = quotas.map(({ name, max }) =>
      typeof max === 'number' ? max : withValue(max(request, caller.id), (value) => checkedMax(name, value)),
    )
    if (!found.some(isPromise)) return limitsWith(quotas, found as readonly number[])
    const all = inTime(Promise.all(found), patience, 'the max of a quota', schedule)
    return all.then((maxima) => limitsWith(quotas, maxima))
  }

  return function limitsOfCaller(request, caller) {
    const cached = known.get(caller.key)
    // A clock that was set back does not keep a result for longer.
    const age = cached === undefined ? maxAge : Math.abs(now() - cached.from)
    if (cached !== undefined && age < maxAge) return cached.limits
    // Requests that come meanwhile wait for the same promise. A failure is not kept.
    const limits = lookUp(request, caller)
    known.set(caller.key, { limits, from: now() })
    if (isPromise(limits))
      limits.then(undefined, () => known.set(caller.key, { limits, from: Number.NEGATIVE_INFINITY }))
    return limits
  }
}

/** @throws TypeError if a function for `max` has returned something else */
function checkedMax(name: string, max: unknown): number {
  if (max === null || max === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
  if (isMax(max)) return max
  throw new TypeError(`max of the quota ${name} is not an integer from 0, null or Infinity: ${String(max)}`)
}
