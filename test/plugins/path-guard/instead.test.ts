import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { pathGuard } from '../../../src/index.js'

const nothing = async (): Promise<object> => ({})

t.test('what is written instead is one path, whatever the rules that a route breaks', async (t) => {
  const app = Fastify()
  await app.register(pathGuard, { mode: 'report' })
  app.get('/Order_item/:id/list', nothing)
  await app.ready()

  t.strictSame(
    insteadOf(app),
    ['uppercase', 'underscore', 'plural', 'words', 'version'].map((rule) => [rule, '/v1/order-items/:id']),
  )
})

t.test('it mends only what is in force: not what is off, nor what is excepted', async (t) => {
  const app = Fastify()
  await app.register(pathGuard, { mode: 'report', rules: { slash: 'off' } })
  const config = { pathGuard: { except: ['underscore'], reason: 'published before the rule' } } as const
  app.post('/v1/user/:id/verify_email/', { config }, nothing)
  await app.ready()

  t.strictSame(insteadOf(app), [['plural', '/v1/users/:id/verify_email/']])
  t.strictSame(
    app.conventions.report().exceptions.map(({ rules, unused }) => [rules, unused]),
    [[['underscore'], false]],
  )
})

t.test('it names the method where the route has another one', async (t) => {
  const app = Fastify()
  await app.register(pathGuard, { mode: 'report' })
  app.post('/v1/users/:id/delete', nothing)
  app.delete('/v1/users/:id/follow', nothing)
  await app.ready()

  t.strictSame(insteadOf(app), [
    ['words', 'DELETE /v1/users/:id'],
    ['action', 'POST /v1/users/:id/unfollow'],
  ])
})

function insteadOf(app: FastifyInstance): (readonly [rule: string, instead: string])[] {
  return app.conventions.report().findings.map(({ rule, instead }) => [rule, instead])
}
