import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import t from 'tap'
import { order, type Step } from '../../src/fastify/order.js'
import { addAppHook, addHook } from '../../src/fastify/route.js'

type Next = (error?: Error) => void

t.test('hooks of conventions run in the order of the table, whichever is added first', async (t) => {
  const steps: readonly Step<'preHandler'>[] = ['integerTwins', 'fields', 'caching']
  for (const added of [steps, [...steps].reverse()]) {
    const { app, ran } = newApp()
    app.addHook('onRoute', (route) => {
      for (const step of added) addHook(route, 'preHandler', step, ran(step))
    })
    app.get('/', { preHandler: ran('app') }, () => 'done')
    t.strictSame(await namesOf(app), ['integerTwins', 'app', 'fields', 'caching'])
  }
})

t.test('hooks that a later onRoute hook of the app adds keep their place', async (t) => {
  const ways: Readonly<Record<string, (route: RouteOptions, hook: never) => void>> = {
    push: (route, hook) => void (route.preHandler as unknown[]).push(hook),
    append: (route, hook) => {
      route.preHandler = [...[route.preHandler ?? []].flat(), hook]
    },
    insert: (route, hook) => {
      route.preHandler = [hook, ...[route.preHandler ?? []].flat()]
    },
    replace: (route, hook) => {
      route.preHandler = hook
    },
  }
  for (const [name, add] of Object.entries(ways)) {
    const { app, ran } = newApp()
    app.addHook('onRoute', (route) => {
      addHook(route, 'preHandler', 'integerTwins', ran('integerTwins'))
      addHook(route, 'preHandler', 'caching', ran('caching'))
    })
    app.addHook('onRoute', (route) => add(route, ran('app') as never))
    app.get('/', () => 'done')
    t.strictSame(await namesOf(app), ['integerTwins', 'app', 'caching'], name)
  }
})

t.test('a hook that the app lists twice runs twice', async (t) => {
  const { app, ran } = newApp()
  app.addHook('onRoute', (route) => addHook(route, 'preHandler', 'caching', ran('caching')))
  const own = ran('app')
  app.get('/', { preHandler: [own, own] }, () => 'done')
  t.strictSame(await namesOf(app), ['app', 'app', 'caching'])
})

t.test('a route that copies the options of another one does not run its hooks twice', async (t) => {
  const { app, ran } = newApp()
  app.addHook('onRoute', (route) => addHook(route, 'preHandler', 'caching', ran(`caching ${route.path}`)))
  app.addHook('onRoute', (route) => {
    if (route.path === '/') app.route({ ...route, url: '/copy' })
  })
  app.get('/', { preHandler: ran('app'), exposeHeadRoute: false }, () => 'done')
  t.strictSame(await namesOf(app), ['app', 'caching /'])
  t.strictSame(await namesOf(app, '/copy'), ['app', 'caching /copy'])
})

t.test('the options of the app stay as they are', async (t) => {
  const { app, ran } = newApp()
  app.addHook('onRoute', (route) => addHook(route, 'preHandler', 'caching', ran('caching')))
  const preHandler = [ran('app')]
  app.get('/', { preHandler }, () => 'done')
  await app.ready()
  t.equal(preHandler.length, 1)
  t.strictSame(await namesOf(app), ['app', 'caching'])
})

t.test('hooks of one place keep the order in which they are added', async (t) => {
  const { app, ran } = newApp()
  app.addHook('onRoute', (route) => {
    addHook(route, 'preHandler', 'caching', ran('first'))
    addHook(route, 'preHandler', 'caching', ran('second'))
  })
  app.get('/', () => 'done')
  t.strictSame(await namesOf(app), ['first', 'second'])
})

t.test('hooks for all requests run in the order of the table, in front of those of the app', async (t) => {
  const { app, ran } = newApp()
  addAppHook(app, 'onRequest', 'versions', ran('versions'))
  app.addHook('onRequest', ran('app'))
  addAppHook(app, 'onRequest', 'cors', ran('cors'))
  addAppHook(app, 'onRequest', 'problems:admission', ran('admission'))
  app.get('/', () => 'done')
  t.strictSame(await namesOf(app), ['admission', 'cors', 'versions', 'app'])
  t.strictSame(await namesOf(app, '/nowhere'), ['admission', 'cors', 'versions', 'app'])
})

t.test('a convention of a child context runs at its place, and in that context only', async (t) => {
  const { app, ran } = newApp()
  addAppHook(app, 'onRequest', 'versions', ran('versions'))
  app.addHook('onRequest', ran('app'))
  app.register(
    async (child) => {
      addAppHook(child, 'onRequest', 'cors', ran('cors'))
      child.get('/', () => 'done')
      child.register(async (grandchild) => {
        addAppHook(grandchild, 'onRequest', 'maintenance', ran('maintenance'))
        grandchild.get('/below', () => 'done')
      })
    },
    { prefix: '/child' },
  )
  app.get('/', () => 'done')
  await app.ready()
  t.strictSame(await namesOf(app), ['versions', 'app'])
  t.strictSame(await namesOf(app, '/child'), ['cors', 'versions', 'app'])
  t.strictSame(await namesOf(app, '/child/below'), ['cors', 'maintenance', 'versions', 'app'])
})

t.test('a hook for all requests may refuse, throw, or change what is sent', async (t) => {
  const app = Fastify()
  addAppHook(app, 'onRequest', 'cors', (_request, _reply, next) => void setImmediate(next))
  addAppHook(app, 'onRequest', 'versions', (request, reply, next) => {
    if (request.url === '/throws') throw new Error('thrown')
    if (request.url === '/fails') next(new Error('failed'))
    else if (request.url === '/answers') void reply.code(410).send('gone')
    else next()
  })
  addAppHook(app, 'onSend', 'securityHeaders', (request, _reply, payload, next) => {
    if (request.url === '/send-fails') next(new Error('not sent'))
    else next(null, `${payload}, changed`)
  })
  addAppHook(app, 'onSend', 'problems', (_request, _reply, payload, next) => next(null, `${payload}, first`))
  addAppHook(app, 'onSend', 'cors', (_request, _reply, _payload, next) => next())
  for (const path of ['/', '/throws', '/fails', '/answers', '/send-fails']) app.get(path, () => 'done')
  const answers = new Map<string, string>()
  for (const path of ['/', '/throws', '/fails', '/answers', '/send-fails']) {
    const { statusCode, body } = await app.inject(path)
    answers.set(
      path,
      `${statusCode} ${body.includes('message') ? JSON.parse(body.split(', first')[0] ?? '').message : body}`,
    )
  }
  t.strictSame(Object.fromEntries(answers), {
    '/': '200 done, first, changed',
    '/throws': '500 thrown',
    '/fails': '500 failed',
    '/answers': '410 gone, first, changed',
    '/send-fails': '500 not sent',
  })
})

t.test('each phase has a place for the hooks of the app, and no place twice', async (t) => {
  for (const [phase, steps] of Object.entries(order)) {
    t.equal(new Set(steps).size, steps.length, phase)
    t.ok(steps.includes('hooks of the app' as never), phase)
    t.ok(steps.includes('hooks of the route' as never), phase)
  }
})

const kept = Symbol('kept')

/** An app whose answers tell which hooks have run. */
function newApp(): {
  app: FastifyInstance
  ran: (name: string) => (request: object, reply: object, next: Next) => void
} {
  const app = Fastify()
  app.addHook('onSend', (request, reply, _payload, next) => {
    void reply.code(200)
    next(null, JSON.stringify((request as { [kept]?: string[] })[kept] ?? []))
  })
  return {
    app,
    ran: (name) =>
      function noteRun(request: { [kept]?: string[] }, _reply, next) {
        request[kept] = [...(request[kept] ?? []), name]
        next()
      },
  }
}

async function namesOf(app: FastifyInstance, url = '/'): Promise<unknown> {
  return (await app.inject(url)).json()
}
