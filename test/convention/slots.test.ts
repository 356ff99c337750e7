import Fastify from 'fastify'
import t from 'tap'
import { declareValues, requestSlot, routeSlot } from '../../src/convention/slots.js'

t.test('a value of a route is visible to its requests only', async (t) => {
  const slot = routeSlot<string>('test.route')
  const app = Fastify()
  app.addHook('onRoute', (route) => {
    if (route.path === '/one') slot.set(route, 'one')
    if (route.path === '/two') t.equal(slot.get(route), undefined)
  })
  const config = {}
  for (const path of ['/one', '/two'])
    app.get(path, { config }, (request) => ({ value: slot.of(request) ?? null }))
  t.strictSame((await app.inject('/one')).json(), { value: 'one' })
  t.strictSame((await app.inject('/two')).json(), { value: null })
  t.strictSame(Object.getOwnPropertySymbols(config), [], 'the object of the app stays as it is')
})

t.test('each request has its own value, and setting it does not change the object’s shape', async (t) => {
  const slot = requestSlot<string>('test.shape')
  const app = Fastify()
  declareValues(app)
  app.get('/', (request) => {
    const before = Reflect.ownKeys(request)
    t.equal(slot.get(request), undefined)
    slot.set(request, 'set')
    t.strictSame(Reflect.ownKeys(request), before)
    return {}
  })
  for (let round = 0; round < 2; round++) await app.inject('/')
})
