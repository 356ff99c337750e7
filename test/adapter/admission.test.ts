import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { Admission } from '../../src/adapter/admission.js'
import { reporterOf } from '../../src/adapter/report.js'
import { BoundedCache } from '../../src/bounded-cache.js'

const json = ['application/json']
const reply = {} as FastifyReply

t.test('routes that produce the same share what is known of Accept headers', async (t) => {
  const kept = t.capture(BoundedCache.prototype, 'set', BoundedCache.prototype.set)
  const admission = new Admission(5)
  const hooks = [json, json, ['application/json', 'text/csv'], ['text/csv', 'application/json']].map(
    (produced) => admission.enforcer(produced),
  )
  for (const hook of hooks) hook(requestWith('text/html, application/json'), reply, (error) => t.notOk(error))

  t.equal(kept().length, 2, 'one for JSON, one for both')
})

t.test('a long Accept header is judged, but not kept', async (t) => {
  const kept = t.capture(BoundedCache.prototype, 'set', BoundedCache.prototype.set)
  const enforce = new Admission(5).enforcer(json)
  const padding = `text/${'x'.repeat(300)}`
  enforce(requestWith(`${padding}, application/json`), reply, (error) => t.notOk(error))
  enforce(requestWith(padding), reply, (error) => t.match(error, { code: 'not-acceptable' }))
  t.equal(kept().length, 0)

  enforce(requestWith('application/json'), reply, (error) => t.notOk(error))
  t.equal(kept().length, 1, 'a short one is')
})

t.test('hooks have names', async (t) => {
  const admission = new Admission(5)
  t.equal(admission.enforcer(json).name, 'admitRequest')
  t.equal(admission.observer(json, reporterOf(Fastify())).name, 'observeAcceptance')
})

function requestWith(accept: string): FastifyRequest {
  return {
    raw: { headers: { accept, host: 'localhost' }, httpVersionMajor: 1, httpVersionMinor: 1 },
  } as FastifyRequest
}
