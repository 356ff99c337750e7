import { BoundedCache } from '../../bounded-cache.js'
import { Outage } from '../../time/outage.js'
import { introspector } from './introspection.js'
import { Issuer } from './issuer.js'
import { type JoseModule, jwtVerifier, type VerificationKeys } from './jwt.js'
import { type FindKey, KeySet } from './key-set.js'
import type { ResolvedBearer } from './options.js'
import { TokenCache } from './tokens.js'

interface Log {
  info(message: string): void
  warn(values: object, message: string): void
  error(values: object, message: string): void
}

const maxWarned = 100

/** Milliseconds that known keys are used while the issuer cannot be reached. */
const keysMaxStale = 86_400_000

/** Milliseconds between the begins of two outages that are logged. */
const outageInterval = 60_000

export async function tokenVerification(
  options: ResolvedBearer,
  log: Log,
  loadJose: () => Promise<JoseModule>,
) {
  const { introspection, jwks, jwksUri, cache, now } = options
  const outage = new Outage(outageInterval, now)
  const issuer = new Issuer(options)

  function noteRequest(err: unknown): void {
    if (err === null) {
      if (outage.ends()) log.info('bearer: the issuer answers again')
    } else if (outage.begins()) log.error({ err }, 'bearer: the issuer cannot be used')
  }

  if (introspection !== null) {
    const verify = introspector(issuer, options, introspection, noteRequest)
    const most = introspection.cacheFor === 0 ? 0 : cache
    return { tokens: new TokenCache(verify, most, now), warmUp: async () => {} }
  }
  const jose = await loadJose()
  const warned = new BoundedCache<string, true>(maxWarned)
  const onUnusable: VerificationKeys['onUnusable'] = ({ alg, kid }, err) => {
    const name = `${alg} ${kid}`
    if (warned.get(name) === true) return
    warned.set(name, true)
    log.warn({ err, alg, kid }, 'bearer: a key of the issuer cannot be used, and its tokens are refused')
  }
  const finderOf = (keys: unknown): FindKey =>
    jose.createLocalJWKSet(keys as Parameters<typeof jose.createLocalJWKSet>[0])
  if (jwks !== undefined) {
    const fixed = { find: finderOf(jwks), freshUntil: () => Number.POSITIVE_INFINITY, onUnusable }
    const verify = jwtVerifier(jose, options, fixed)
    return { tokens: new TokenCache(verify, cache, now), warmUp: async () => {} }
  }
  const keys = new KeySet({
    maxAge: options.keysMaxAge,
    maxStale: keysMaxStale,
    cooldown: options.keysCooldown,
    now,
    schedule: options.schedule,
    load: () => issuer.ask('jwks_uri', jwksUri),
    finderOf,
    isNoKey: (error) => error instanceof jose.errors.JWKSNoMatchingKey,
    onChange: () => tokens.clear(),
    onFetch: noteRequest,
  })
  const ofSet = { find: keys.find, freshUntil: () => keys.freshUntil(), onUnusable }
  const tokens = new TokenCache(jwtVerifier(jose, options, ofSet), cache, now)
  return { tokens, warmUp: () => keys.warmUp() }
}
