import Fastify from 'fastify'
import t from 'tap'
import { addFrameworkErrorHeaders } from '../../src/convention/early-answers.js'
import { serverOptions } from '../../src/server-options.js'

t.test('responses without hooks get the headers of all conventions, even if one of them fails', async (t) => {
  const app = Fastify(serverOptions())
  addFrameworkErrorHeaders(app, (_, reply, next) => {
    reply.header('x-first', '1')
    next()
  })
  addFrameworkErrorHeaders(app, (_request, _reply, next) => setImmediate(() => next(new Error('failed'))))
  addFrameworkErrorHeaders(app, (_, reply, next) => {
    reply.header('x-last', '1')
    next()
  })
  const { statusCode, headers } = await app.inject('/%zz')
  t.match({ statusCode, headers }, { statusCode: 400, headers: { 'x-first': '1', 'x-last': '1' } })
})

t.test('a context below the root adds nothing to the errors of the root', async (t) => {
  for (const isInherited of [true, false]) {
    const app = Fastify(serverOptions())
    if (isInherited) addFrameworkErrorHeaders(app, (_request, _reply, next) => next())
    await app.register(async (child) => {
      addFrameworkErrorHeaders(child, (_, reply, next) => {
        reply.header('x-child', '1')
        next()
      })
    })
    const { statusCode, headers } = await app.inject('/%zz')
    t.equal(statusCode, 400)
    t.notOk('x-child' in headers)
  }
})
