import Fastify from 'fastify'
import t from 'tap'
import { BoundedCache } from '../../src/bounded-cache.js'
import { Admission } from '../../src/fastify/admission.js'
import { reporterOf } from '../../src/rules/report.js'

const json = ['application/json']

t.test('routes with the same media types share the cache of Accept headers', async (t) => {
  const kept = t.capture(BoundedCache.prototype, 'set', BoundedCache.prototype.set)
  const admission = newAdmission()
  const routes = [json, json, ['application/json', 'text/csv'], ['text/csv', 'application/json']].map(
    (produced) => admission.acceptance(produced),
  )
  for (const accepts of routes) t.ok(accepts('text/html, application/json'))

  t.equal(kept().length, 2, 'one for JSON, one for both')
})

t.test('a long Accept header is evaluated, and not cached', async (t) => {
  const kept = t.capture(BoundedCache.prototype, 'set', BoundedCache.prototype.set)
  const accepts = newAdmission().acceptance(json)
  const padding = `text/${'x'.repeat(300)}`
  t.equal(accepts(`${padding}, application/json`), true)
  t.equal(accepts(padding), false)
  t.equal(kept().length, 0)

  t.equal(accepts('application/json'), true)
  t.equal(kept().length, 1, 'a short one is')
})

function newAdmission(): Admission {
  return new Admission({ retryAfter: 5, mode: 'enforce', reporter: reporterOf(Fastify()) })
}
