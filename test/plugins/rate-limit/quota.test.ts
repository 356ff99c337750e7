import fc from 'fast-check'
import t from 'tap'
import { Quota, sfString, wholeSeconds } from '../../../src/plugins/rate-limit/quota.js'

t.test('the fields are written as in the draft', async (t) => {
  const quota = new Quota('default', 1000, 60_000)
  t.equal(quota.policy, '"default";q=1000;w=60')
  t.equal(quota.state({ remaining: 999, ttl: 59_001 }), '"default";r=999;t=60')
})

t.test('any name is written as a string of RFC 9651', async (t) => {
  t.equal(sfString('POST /v1/orders/:id/retry'), '"POST /v1/orders/:id/retry"')
  t.equal(sfString('a "quoted" \\ one'), '"a \\"quoted\\" \\\\ one"')
  t.equal(sfString('/v1/bücher'), '"/v1/b%C3%BCcher"')
  t.equal(sfString('/v1/😀'), '"/v1/%F0%9F%98%80"')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => /^"(?:[ !#-[\]-~]|\\["\\])*"$/.test(sfString(name))),
  )
})

t.test('seconds are rounded up, so that no client retries too early', async (t) => {
  t.equal(wholeSeconds(60_000), 60)
  t.equal(wholeSeconds(59_001), 60)
  t.equal(wholeSeconds(1), 1)
  t.equal(wholeSeconds(0), 0)
  t.equal(wholeSeconds(-1, 1), 1)
  t.ok(Object.is(wholeSeconds(-1), 0), 'and never below zero')
})
