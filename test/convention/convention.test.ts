/** What `convention()` promises to each convention, shown with small ones under the names of the table. */
import Fastify, { type FastifyInstance, type FastifyPluginAsync, type RouteOptions } from 'fastify'
import t from 'tap'
import { convention } from '../../src/convention/convention.js'
import { order, type Phase, phases, placeOf } from '../../src/convention/order.js'
import type { RequestStep, StepResult } from '../../src/convention/steps.js'
import { ProblemError } from '../../src/problem/problem-error.js'
import { modeOption, routeModeOption, routeRuleOptions, ruleOptions } from '../../src/report/modes.js'

type Next = (error?: Error) => void
type Hook = (request: object, reply: object, next: Next) => void

const kept = Symbol('kept')

/** A convention whose step notes that it has run. */
function noting(name: string, phase: Phase = 'preHandler', label: (path: string) => string = () => name) {
  return convention({
    name,
    rules: [],
    options: { mode: modeOption },
    routeOptions: { mode: routeModeOption },
    setUp: () => null,
    route: ({ path }) => ({ [phase]: (request: object) => void note(request, label(path)) }),
  })
}

function note(request: { [kept]?: string[] }, name: string): void {
  request[kept] = [...(request[kept] ?? []), name]
}

function ran(name: string): Hook {
  return function noteRun(request, _reply, next) {
    note(request, name)
    next()
  }
}

/** An app whose answers tell which steps and hooks have run. */
function newApp(): FastifyInstance {
  const app = Fastify()
  app.addHook('onSend', (request, reply, _payload, next) => {
    void reply.code(200)
    next(null, JSON.stringify((request as { [kept]?: string[] })[kept] ?? []))
  })
  return app
}

async function namesOf(app: FastifyInstance, url = '/'): Promise<unknown> {
  return (await app.inject(url)).json()
}

t.test(
  'a HEAD route that Fastify adds shares the plan of its GET route; one of the app has its own',
  async (t) => {
    const compiled: string[] = []
    const counting = convention({
      name: 'counting',
      rules: [],
      options: { mode: modeOption },
      routeOptions: { mode: routeModeOption },
      setUp: () => null,
      route({ name }) {
        compiled.push(name)
        const effect = { rule: 'counted', given: '', headers: { 'x-plan': name } }
        return { preHandler: () => effect }
      },
    })
    const app = Fastify()
    // A hook of the app may configure the HEAD route alone.
    app.addHook('onRoute', (route) => {
      if (route.method === 'HEAD') route.config = Object.assign({}, route.config, { ofHead: true })
    })
    const configs: object[] = []
    app.addHook('onRequest', async ({ routeOptions }) => void configs.push(routeOptions.config))
    await app.register(counting)
    const answer = async () => 'done'
    app.get('/a', { config: { counting: {} } as object }, answer)
    app.get('/b', { constraints: { version: '1.0.0' } }, answer)
    app.head('/b', { constraints: { version: '2.0.0' } }, answer)
    app.head('/c', answer)
    await app.register(async (child) => void child.get('/', answer), { prefix: '/d' })
    const planOf = async (url: string, version?: string) => {
      const headers = version === undefined ? {} : { 'accept-version': version }
      return (await app.inject({ method: 'HEAD', url, headers })).headers['x-plan']
    }
    t.equal(await planOf('/a'), 'GET /a')
    t.equal(await planOf('/b', '1.0.0'), 'GET /b')
    t.equal(await planOf('/b', '2.0.0'), 'HEAD /b')
    t.equal(await planOf('/c'), 'HEAD /c')
    t.equal(await planOf('/d'), 'GET /d')
    t.equal(await planOf('/d/'), 'GET /d')
    t.strictSame(compiled, ['*', 'GET /a', 'GET /b', 'HEAD /b', 'HEAD /c', 'GET /d'])
    t.match(configs[0], { counting: {}, ofHead: true })
  },
)

t.test('hooks that onRoute hooks of the app add keep their place', async (t) => {
  const ways: Readonly<Record<string, (route: RouteOptions) => void>> = {
    push: (route) => void (route.preHandler as unknown[]).push(ran('late')),
    append: (route) => {
      route.preHandler = [...[route.preHandler ?? []].flat(), ran('late')]
    },
    replace: (route) => {
      route.preHandler = [ran('app'), ran('late')]
    },
  }
  for (const [name, add] of Object.entries(ways)) {
    const app = newApp()
    await app.register(noting('integerTwins'))
    await app.register(noting('caching'))
    app.addHook('onRoute', add)
    app.get('/', { preHandler: [ran('app')], exposeHeadRoute: false }, () => 'done')
    t.strictSame(await namesOf(app), ['integerTwins', 'app', 'late', 'caching'], name)
  }
})

t.test('hooks of the app run as often as the app lists them, and its options stay as they are', async (t) => {
  const app = newApp()
  await app.register(noting('caching'))
  const own = ran('app')
  const preHandler = [own, own]
  app.get('/', { preHandler }, () => 'done')
  t.strictSame(await namesOf(app), ['app', 'app', 'caching'])
  t.strictSame(preHandler, [own, own])
})

t.test('a route that copies the options of another one does not run its steps', async (t) => {
  const app = newApp()
  await app.register(noting('caching', 'preHandler', (path) => `caching ${path}`))
  const copied: RouteOptions[] = []
  app.addHook('onRoute', (route) => void (route.path === '/' && copied.push(route)))
  app.get('/', { preHandler: ran('app'), exposeHeadRoute: false }, () => 'done')
  await app.after()
  for (const route of copied) app.route({ ...route, url: '/copy' })
  t.strictSame(await namesOf(app), ['app', 'caching /'])
  t.strictSame(await namesOf(app, '/copy'), ['app', 'caching /copy'])
})

t.test('steps before the hooks of the app run in one hook, also on paths without a route', async (t) => {
  const app = newApp()
  await app.register(noting('versions', 'onRequest'))
  app.addHook('onRequest', ran('app'))
  await app.register(noting('cors', 'onRequest'))
  app.get('/', () => 'done')
  t.strictSame(await namesOf(app), ['cors', 'versions', 'app'])
  t.strictSame(await namesOf(app, '/nowhere'), ['cors', 'versions', 'app'])
})

t.test('a convention of a child context runs at its place, and there only', async (t) => {
  const app = newApp()
  await app.register(noting('versions', 'onRequest'))
  app.addHook('onRequest', ran('app'))
  app.register(
    async (child) => {
      await child.register(noting('cors', 'onRequest'))
      child.get('/', () => 'done')
      child.register(async (grandchild) => {
        await grandchild.register(noting('maintenance', 'onRequest'))
        grandchild.get('/below', () => 'done')
      })
    },
    { prefix: '/child' },
  )
  app.get('/', () => 'done')
  t.strictSame(await namesOf(app), ['versions', 'app'])
  t.strictSame(await namesOf(app, '/child'), ['cors', 'versions', 'app'])
  t.strictSame(await namesOf(app, '/child/below'), ['cors', 'maintenance', 'versions', 'app'])
})

t.test(
  'a convention of another package runs after ours: before the hooks of the app, or the handler',
  async (t) => {
    const app = newApp()
    await app.register(noting('tenant', 'onRequest'))
    await app.register(noting('money', 'preHandler'))
    await app.register(noting('caching'))
    await app.register(noting('xsrf', 'onRequest'))
    app.addHook('onRequest', ran('app'))
    app.get('/', { preHandler: ran('route') }, () => 'done')
    t.strictSame(await namesOf(app), ['xsrf', 'tenant', 'app', 'route', 'caching', 'money'])
  },
)

const rules = ['tidy', 'short'] as const

function ruled(step: RequestStep, setFindings = false): FastifyPluginAsync<object> {
  return convention({
    name: 'tidiness',
    rules,
    options: ruleOptions(rules),
    routeOptions: routeRuleOptions(rules),
    setUp: () => null,
    route({ addFinding }) {
      if (setFindings) addFinding('tidy', 'is untidy', 'a tidy one')
      return { onRequest: step, preHandler: step }
    },
  })
}

const refused: StepResult = {
  rule: 'tidy',
  given: 'untidy',
  refusal: new ProblemError('request-malformed', { detail: 'untidy' }),
}

t.test(
  'a step refuses, answers, sets headers or changes the request; at once, or as a promise',
  async (t) => {
    const cases: Readonly<
      Record<string, { step: RequestStep; status: number; header?: string; body?: string }>
    > = {
      nothing: { step: () => undefined, status: 200 },
      'a promise of nothing': { step: async () => undefined, status: 200 },
      'a refusal': { step: () => refused, status: 400 },
      'a promise of a refusal': { step: async () => refused, status: 400 },
      headers: {
        step: () => ({ rule: 'tidy', given: '', headers: { 'x-tidy': 'yes' } }),
        status: 200,
        header: 'yes',
      },
      'one for each rule': {
        step: () => rules.map((rule) => ({ rule, given: '', headers: { 'x-tidy': rule } })),
        status: 200,
        header: 'short',
      },
      'an answer': {
        step: () => ({
          rule: 'tidy',
          given: '',
          answer: { status: 203, payload: 'tidied', headers: { 'x-tidy': 'a' } },
        }),
        status: 203,
        header: 'a',
        body: 'tidied',
      },
    }
    for (const [name, { step, status, header, body }] of Object.entries(cases)) {
      const app = Fastify()
      await app.register(ruled(step))
      app.get('/', () => 'done')
      const response = await app.inject('/')
      t.equal(response.statusCode, status, name)
      t.equal(response.headers['x-tidy'], header, name)
      if (status < 400) t.equal(response.body, body ?? 'done', name)
      else t.match(response.headers['content-type'], 'application/problem+json', name)
    }
  },
)

t.test('what a step throws is an error of the request, whatever it is', async (t) => {
  for (const thrown of [new Error('thrown'), undefined, null, 'text', 0]) {
    for (const isAsync of [false, true]) {
      const app = Fastify()
      const step: RequestStep = isAsync
        ? () => Promise.reject(thrown)
        : () => {
            throw thrown
          }
      await app.register(ruled(step))
      let isRun = false
      app.get('/', () => {
        isRun = true
        return 'done'
      })
      t.equal((await app.inject('/')).statusCode, 500, String(thrown))
      t.notOk(isRun, 'the handler does not run')
    }
  }
})

t.test('in report mode effects are counted, and a needed one is applied', async (t) => {
  const app = Fastify()
  const isNeeded = { rule: 'short', given: 'long', headers: { 'x-tidy': 'needed' }, isNeeded: true }
  await app.register(
    ruled(() => [refused as never, isNeeded]),
    { mode: 'report' } as object,
  )
  app.get('/', () => 'done')
  const response = await app.inject('/')
  t.match(response, { statusCode: 200, body: 'done', headers: { 'x-tidy': 'needed' } })
  t.match(app.conventions.report().observations, [
    { plugin: 'tidiness', rule: 'tidy', route: 'GET /', effect: 'refused', status: 400, count: 2 },
  ])
})

t.test('options of a route and exceptions decide the mode of a rule there', async (t) => {
  const app = Fastify()
  const exceptions = [{ url: '/old/*', except: ['tidy'], reason: 'since 2019' }]
  await app.register(
    ruled(() => refused),
    { exceptions } as object,
  )
  const config = (tidiness: object | false): object => ({ config: { tidiness } })
  app.get('/refused', () => 'done')
  app.get('/old/a', () => 'done')
  app.get('/off', config(false), () => 'done')
  app.get('/reported', config({ rules: { tidy: 'report' } }), () => 'done')
  app.get('/excepted', config({ except: ['tidy'], reason: 'mine' }), () => 'done')
  t.throws(() => app.get('/bad', config({ except: ['loud'], reason: 'x' }), () => ''), {
    message: /GET \/bad config\.tidiness\.except\[0\]/,
  })
  const statuses = ['/refused', '/old/a', '/off', '/reported', '/excepted'].map(
    async (url) => (await app.inject(url)).statusCode,
  )
  t.strictSame(await Promise.all(statuses), [400, 200, 200, 200, 200])
})

t.test('an exception is unused if no route that it is for breaks the rule', async (t) => {
  for (const breaks of [true, false]) {
    const app = Fastify()
    const exceptions = [{ url: '/old/*', except: ['tidy'], reason: 'since 2019' }]
    await app.register(
      ruled(() => undefined, breaks),
      { exceptions } as object,
    )
    app.get('/old/a', { exposeHeadRoute: false }, () => 'done')
    app.get('/old/b', { exposeHeadRoute: false }, () => 'done')
    const own = {
      config: { tidiness: { except: ['tidy'], reason: 'mine' } },
      exposeHeadRoute: false,
    } as object
    app.get('/own', own, () => 'done')
    await app.ready()
    const found = app.conventions.report().exceptions.map(({ route, unused }) => [route, unused])
    const expected = breaks
      ? [
          ['GET /old/a', false],
          ['GET /old/b', false],
          ['GET /own', false],
        ]
      : [
          ['GET /own', true],
          ['/old/*', true],
        ]
    t.strictSame(found, expected)
  }
})

t.test('an exception for a path without a route is reported', async (t) => {
  const app = Fastify()
  const exceptions = [{ url: '/old/*', except: ['tidy'], reason: 'since 2019' }]
  await app.register(
    ruled(() => undefined),
    { exceptions } as object,
  )
  app.get('/', () => 'done')
  await app.ready()
  t.match(app.conventions.report().exceptions, [
    { plugin: 'tidiness', route: '/old/*', rules: ['tidy'], unused: true },
  ])
})

t.test('each phase of the table has a place for the hooks of the app, and no place twice', async (t) => {
  for (const phase of phases) {
    const steps: readonly string[] = order[phase]
    t.equal(new Set(steps).size, steps.length, phase)
    t.equal(placeOf(phase, 'hooks of the app').side, 'beforeRoute', phase)
    t.equal(placeOf(phase, 'hooks of the route').side, 'afterRoute', phase)
  }
})

t.test('explain() returns the steps that a request passed, and what each said', async (t) => {
  const app = Fastify()
  const first = convention({
    name: 'cors',
    rules: [],
    options: { mode: modeOption },
    routeOptions: {},
    route: () => ({ onRequest: async () => ({ rule: '*', given: '', headers: { vary: 'origin' } }) }),
  })
  await app.register(first)
  await app.register(noting('versions', 'onRequest'))
  await app.register(ruled(() => refused))
  app.get('/', () => 'done')
  const all = await Promise.all([app.conventions.explain('/'), app.conventions.explain('/'), app.inject('/')])
  for (const explanation of all.slice(0, 2)) {
    t.strictSame(explanation, {
      status: 400,
      steps: [
        { phase: 'onRequest', step: 'cors', said: 'headers', detail: 'vary' },
        { phase: 'onRequest', step: 'versions', said: 'nothing', detail: '' },
        { phase: 'onRequest', step: 'tidiness', said: 'refused', detail: '400 request-malformed' },
      ],
    })
  }
  t.strictSame((await app.conventions.explain('/nowhere')).steps.length, 3)
})
