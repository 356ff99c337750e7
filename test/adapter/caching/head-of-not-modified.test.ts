import Fastify, { type RouteOptions } from 'fastify'
import t from 'tap'
import { measuresForHead, spareNotModified } from '../../../src/adapter/caching/head-of-not-modified.js'

t.test('the hook by which Fastify measures for HEAD is known by its name', async (t) => {
  const app = Fastify()
  const seen: (readonly [method: unknown, measures: boolean])[] = []
  app.addHook('onRoute', (route) => void seen.push([route.method, measuresForHead(route.onSend)]))
  app.get('/v1/users', () => ({}))
  app.head('/v1/own', () => '')
  await app.ready()
  t.strictSame(seen, [
    ['GET', false],
    ['HEAD', true],
    ['HEAD', false],
  ])
})

t.test('a 304 is not measured; all else is, and other hooks stay as they are', async (t) => {
  const own = (_request: unknown, _reply: unknown, payload: unknown, next: (e: null, p: unknown) => void) =>
    next(null, payload)
  t.strictSame(spareNotModified(undefined), [])
  t.equal(spareNotModified(own as RouteOptions['onSend'])[0], own)
  const app = Fastify()
  app.addHook('onRoute', (route) => {
    route.onSend = spareNotModified(route.onSend)
  })
  app.get('/v1/same', (_, reply) => reply.code(304).send(null))
  app.get('/v1/users', () => ({ a: 1 }))
  const same = await app.inject({ method: 'HEAD', url: '/v1/same' })
  t.equal(same.statusCode, 304)
  t.notOk('content-length' in same.headers)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/users' })).headers['content-length'], '7')
})
