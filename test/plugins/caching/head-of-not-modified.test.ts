import Fastify from 'fastify'
import t from 'tap'
import { headSiblings } from '../../../src/fastify/internals.js'
import { spareNotModified } from '../../../src/plugins/caching/head-of-not-modified.js'

t.test('a HEAD route is one of the app where Fastify adds none', async (t) => {
  for (const exposeHeadRoutes of [true, false]) {
    const app = Fastify({ exposeHeadRoutes })
    const isHeadSibling = headSiblings(app)
    const seen: string[] = []
    app.addHook('onRoute', (route) => {
      if (isHeadSibling(route)) seen.push(route.path)
    })
    app.get('/v1/users', () => ({}))
    app.get('/v1/exposed', { exposeHeadRoute: true }, () => ({}))
    app.get('/v1/own', { exposeHeadRoute: false }, () => ({}))
    app.head('/v1/own', () => '')
    app.head('/v1/alone', () => '')
    await app.ready()
    t.strictSame(seen, exposeHeadRoutes ? ['/v1/users', '/v1/exposed'] : ['/v1/exposed'])
  }
})

t.test('a 304 is not measured; all else is', async (t) => {
  const app = Fastify()
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') spareNotModified(route)
  })
  app.get('/v1/same', (_, reply) => reply.code(304).send(null))
  app.get('/v1/users', () => ({ a: 1 }))
  const same = await app.inject({ method: 'HEAD', url: '/v1/same' })
  t.equal(same.statusCode, 304)
  t.notOk('content-length' in same.headers)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/users' })).headers['content-length'], '7')
})
