/** The keys of an issuer: one fetch for many, rotation, and an issuer that cannot be reached. */
import { setImmediate } from 'node:timers/promises'
import * as jose from 'jose'
import t from 'tap'
import { resolveOptions } from '../../../src/options.js'
import { issuerOf, keySet } from '../../../src/plugins/bearer/issuer.js'
import { bearerOptions, resolveBearer } from '../../../src/plugins/bearer/options.js'
import { IssuerUnavailable, TokenRefused } from '../../../src/plugins/bearer/tokens.js'
import { manualClock } from '../../support/manual-clock.js'

const { publicKey } = await jose.generateKeyPair('ES256')
const jwk = await jose.exportJWK(publicKey)
const keyOf = (kid: string): jose.JWK => ({ ...jwk, kid, alg: 'ES256' })

const minute = 60_000

/** The keys of an issuer that a test controls. */
function issuerKeys() {
  const clock = manualClock('2026-01-01T00:00:00Z')
  const { now, schedule } = clock
  const first: unknown = { keys: [keyOf('one')] }
  const issuer = { answer: first, isAway: false, fetches: 0, delay: 0, changes: 0 }
  async function fetch() {
    issuer.fetches += 1
    const { answer } = issuer
    if (issuer.delay > 0) await new Promise<void>((resolve) => void schedule(resolve, issuer.delay))
    if (issuer.isAway) throw new TypeError('fetch failed')
    return Response.json(answer)
  }
  const urls = { issuer: 'https://id.test', audience: 'https://api.test', jwksUri: 'https://id.test/jwks' }
  const given = { ...urls, now, schedule, fetch }
  const options = resolveBearer(resolveOptions('bearer', given, bearerOptions))
  const log: string[] = []
  const note = (text: string) => void log.push(text)
  const logger = { info: note, error: (_: object, text: string) => note(text) }
  const keys = keySet(jose, issuerOf(options, logger), options, () => void issuer.changes++)
  const find = async (kid: string) => keys.find({ alg: 'ES256', kid }, { payload: '', signature: '' })
  const finds = async (kid: string, about = kid) => t.ok(await find(kid), about)
  return { clock, issuer, find, log, finds }
}

t.test('many requests share one fetch, and later ones need none', async (t) => {
  const { clock, find, issuer } = issuerKeys()
  const found = await Promise.all(Array.from({ length: 50 }, () => find('one')))
  t.equal(new Set(found).size, 1)
  t.equal(await find('one'), found[0])
  t.equal(issuer.fetches, 1)
  await clock.advance(10 * minute)
  await find('one')
  await setImmediate()
  t.equal(await find('one'), found[0], 'the same keys stay imported')
  t.equal(issuer.fetches, 2)
  t.equal(issuer.changes, 0, 'and cached tokens stay valid')
})

t.test('a key that is not known is fetched at once, or as soon as the cooldown has passed', async (t) => {
  const { clock, find, finds, issuer } = issuerKeys()
  await finds('one')
  clock.skip(5000)
  issuer.answer = { keys: [keyOf('two')] }
  await Promise.all(Array.from({ length: 50 }, () => finds('two')))
  t.equal(issuer.fetches, 2, 'once for all of them')
  t.equal(issuer.changes, 1, 'verified tokens are verified again: the first key is gone')
  issuer.answer = { keys: [keyOf('two'), keyOf('three')] }
  clock.skip(1000)
  const waiting = Promise.all(Array.from({ length: 20 }, () => find('three')))
  await clock.advance(3999)
  t.equal(issuer.fetches, 2)
  await clock.advance(1)
  t.equal((await waiting).length, 20, 'none of them is refused')
  t.equal(issuer.fetches, 3)
})

t.test('tokens with invented keys cause one fetch per cooldown', async (t) => {
  const { clock, find, finds, issuer } = issuerKeys()
  await finds('one')
  for (let second = 0; second < 60; second += 1) {
    void Promise.allSettled([find(`x${second}`), find(`x${second}`), find('same')])
    await clock.advance(1000)
  }
  await clock.advance(5000)
  t.ok(issuer.fetches <= 14, `${issuer.fetches} fetches in 65 seconds`)
  clock.skip(5000)
  await t.rejects(find('y'), TokenRefused)
  const { fetches } = issuer
  await t.rejects(find('y'), TokenRefused, 'a key that was not there is refused without waiting')
  clock.skip(5000)
  await t.rejects(find('x'.repeat(300)), TokenRefused, 'a long key id is not looked for')
  t.equal(issuer.fetches, fetches)
})

t.test('at most 1000 requests wait for a key that is not known', async (t) => {
  const { clock, find, finds } = issuerKeys()
  await finds('one')
  const all = Promise.allSettled(Array.from({ length: 1200 }, (_, index) => find(`x${index}`)))
  await setImmediate()
  await clock.advance(5000)
  const errors = (await all).map((result) => (result.status === 'rejected' ? result.reason : null))
  t.equal(errors.filter((error) => error instanceof TokenRefused).length, 1000)
  t.equal(errors.filter((error) => error instanceof IssuerUnavailable).length, 200)
})

t.test('a fetch that began before a key was published is followed by another one', async (t) => {
  const { clock, find, finds, issuer } = issuerKeys()
  await finds('one')
  clock.skip(10 * minute)
  issuer.delay = 6000
  const old = find('one')
  await setImmediate()
  t.equal(issuer.fetches, 2)
  issuer.answer = { keys: [keyOf('two')] }
  const found = find('two')
  await setImmediate()
  await clock.advance(6000)
  await clock.advance(6000)
  t.ok(await old)
  t.ok(await found)
  t.equal(issuer.fetches, 3)
})

t.test('while the fetch of old keys fails, requests do not wait for it again and again', async (t) => {
  const { clock, find, finds, issuer } = issuerKeys()
  await finds('one')
  clock.skip(10 * minute)
  Object.assign(issuer, { isAway: true, delay: 6000 })
  const first = find('one')
  await setImmediate()
  await clock.advance(6000)
  t.ok(await first, 'the fetch has failed')
  clock.skip(4999)
  await finds('one', 'without another fetch within the cooldown after the failure')
  t.equal(issuer.fetches, 2)
})

t.test('while the issuer is away, known keys are used until they are too old', async (t) => {
  const { clock, find, finds, issuer, log } = issuerKeys()
  await finds('one')
  issuer.isAway = true
  for (let minutes = 0; minutes < 69; minutes += 1) {
    await clock.advance(minute)
    await finds('one', `after ${minutes + 1} minutes`)
  }
  clock.skip(23 * 60 * minute)
  await finds('one', 'a minute before 24 hours and 10 minutes')
  clock.skip(minute)
  await t.rejects(find('one'), IssuerUnavailable, 'after 24 hours and 10 minutes')
  const { fetches } = issuer
  await t.rejects(find('one'), IssuerUnavailable)
  t.equal(issuer.fetches, fetches, 'no fetch within the cooldown after a failure')
  issuer.isAway = false
  clock.skip(5000)
  await finds('one', 'the issuer is back')
  t.strictSame(log, ['bearer: the issuer cannot be used', 'bearer: the issuer answers again'])
})

t.test('an issuer that is away is not asked by each request: without keys, or for a new key', async (t) => {
  const { clock, find, finds, issuer } = issuerKeys()
  issuer.isAway = true
  for (let round = 0; round < 5; round += 1) await t.rejects(find('one'), IssuerUnavailable)
  t.equal(issuer.fetches, 1)
  issuer.isAway = false
  clock.skip(5000)
  await finds('one')
  clock.skip(5000)
  issuer.isAway = true
  for (let round = 0; round < 2; round += 1) await t.rejects(find('two'), IssuerUnavailable, 'not invalid')
  t.equal(issuer.fetches, 3)
  await finds('one', 'the known key goes on')
})

t.test('a response that is not a key set is an outage, and keeps the known keys', async (t) => {
  const { clock, finds, issuer, log } = issuerKeys()
  await finds('one')
  for (const answer of ['keys', [], {}, { keys: 'one' }, { keys: [1] }]) {
    issuer.answer = answer
    await clock.advance(10 * minute)
    await finds('one', JSON.stringify(answer))
    await setImmediate()
    t.strictSame(log, ['bearer: the issuer cannot be used'])
  }
})
