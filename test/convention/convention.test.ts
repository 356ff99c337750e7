/** What `convention()` promises to each convention, shown with small ones under the names of the table. */
import fastifyCors from '@fastify/cors'
import Fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type RouteOptions,
} from 'fastify'
import t from 'tap'
import { convention } from '../../src/convention/convention.js'
import { order, type Phase, phases, placeOf } from '../../src/convention/order.js'
import { witness } from '../../src/convention/run.js'
import type { RequestStep, StepResult } from '../../src/convention/steps.js'
import { conventions } from '../../src/preset.js'
import { ProblemError } from '../../src/problem/problem-error.js'
import { modeOption, routeModeOption, routeRuleOptions, ruleOptions } from '../../src/report/modes.js'
import { withPlugins } from '../support/app.js'
import { keepLogs } from '../support/logs.js'
import { serve } from '../support/serve.js'

const kept = Symbol('kept')

const ofModes = {
  rules: [],
  options: { mode: modeOption },
  routeOptions: { mode: routeModeOption },
  setUp: () => null,
}

/** A convention whose step notes that it has run. */
function noting(name: string, phase: Phase = 'preHandler', label: (path: string) => string = () => name) {
  const route = ({ path }: { readonly path: string }) => ({
    [phase]: (request: object) => void note(request, label(path)),
  })
  return convention({ ...ofModes, name, route })
}

function note(request: { [kept]?: string[] }, name: string): void {
  request[kept] = [...(request[kept] ?? []), name]
}

const ran = (name: string) => (request: object, _reply: object, next: () => void) => {
  note(request, name)
  next()
}

const answer = () => 'done'

/** An app with some conventions, whose answers tell which steps and hooks have run. */
async function appWith(...plugins: readonly FastifyPluginAsync<object>[]): Promise<FastifyInstance> {
  const app = Fastify()
  app.addHook('onSend', (request, reply, _payload, next) => {
    void reply.code(200)
    next(null, JSON.stringify((request as { [kept]?: string[] })[kept] ?? []))
  })
  for (const plugin of plugins) await app.register(plugin)
  return app
}

const namesOf = async (app: FastifyInstance, url = '/') => (await app.inject(url)).json().join(' ')

t.test('a HEAD route of Fastify shares the plan of its GET route; one of the app has its own', async (t) => {
  const compiled: string[] = []
  const counting = convention({
    ...ofModes,
    name: 'counting',
    route({ name, route }) {
      compiled.push(name)
      if (name === 'GET /a') Object.assign(route ?? {}, { errorHandler: () => 'handled' })
      const validatorCompiler = () => () => ({ error: new Error('not valid') })
      if (name === 'GET /f') Object.assign(route ?? {}, { validatorCompiler })
      return { preHandler: () => ({ rule: 'counted', given: '', headers: { 'x-plan': name } }) }
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
  app.get('/a', { config: { counting: {} } as object }, async ({ query }) => {
    if (Object.keys(query as object).length > 0) throw new Error('asked for')
    return 'done'
  })
  app.get('/b', { constraints: { version: '1.0.0' } }, answer)
  app.head('/b', { constraints: { version: '2.0.0' } }, answer)
  app.post('/c', answer)
  app.head('/c', answer)
  app.get('/e', { exposeHeadRoute: false }, answer)
  app.head('/e', answer)
  app.get('/g', answer)
  app.head('/gg', answer)
  app.get('/f', { schema: { querystring: { type: 'object' } } }, answer)
  await app.register(async (child) => void child.get('/', answer), { prefix: '/d' })
  for (const [url, plan, version] of [
    ['/a', 'GET /a'],
    ['/b', 'GET /b', '1.0.0'],
    ['/b', 'HEAD /b', '2.0.0'],
    ['/c', 'HEAD /c'],
    ['/e', 'HEAD /e'],
    ['/gg', 'HEAD /gg'],
    ['/d', 'GET /d'],
    ['/d/', 'GET /d'],
  ] as const) {
    const headers = version === undefined ? {} : { 'accept-version': version }
    t.equal((await app.inject({ method: 'HEAD', url, headers })).headers['x-plan'], plan, url)
  }
  t.equal(
    compiled.join(),
    '*,GET /a,GET /b,HEAD /b,POST /c,HEAD /c,GET /e,HEAD /e,GET /g,HEAD /gg,GET /f,GET /d',
  )
  t.match(configs[0], { counting: {}, ofHead: true })
  t.equal((await app.inject({ method: 'HEAD', url: '/f' })).statusCode, 400, 'by its validator')
  const withoutHead = await withPlugins(Fastify({ exposeHeadRoutes: false }), counting)
  withoutHead.get('/e', answer)
  withoutHead.head('/e', answer)
  t.equal((await withoutHead.inject({ method: 'HEAD', url: '/e' })).headers['x-plan'], 'HEAD /e')
  t.equal((await app.inject({ method: 'HEAD', url: '/a?fail' })).headers['content-length'], '7', 'handled')
})

t.test('hooks that onRoute hooks of the app add keep their place', async (t) => {
  const without = await appWith(noting('caching'), noting('integerTwins'))
  without.get('/', answer)
  t.equal(await namesOf(without), 'integerTwins caching', 'a route without hooks')
  for (const hooksOf of [
    (hooks: unknown) => (hooks as unknown[]).push(ran('late')) && hooks,
    (hooks: unknown) => [...[hooks].flat(), ran('late')],
    () => [ran('app'), ran('late')],
  ]) {
    const app = await appWith(noting('integerTwins'), noting('caching'))
    app.addHook('onRoute', (route) => void Object.assign(route, { preHandler: hooksOf(route.preHandler) }))
    app.get('/', { preHandler: [ran('app')], exposeHeadRoute: false }, answer)
    t.equal(await namesOf(app), 'integerTwins app late caching', String(hooksOf))
  }
})

t.test('hooks run as often as the app lists them; a copy of a route does not run its steps', async (t) => {
  const app = await appWith(noting('caching', 'preHandler', (path) => `caching ${path}`))
  const copied: RouteOptions[] = []
  app.addHook('onRoute', (route) => void (route.path === '/' && copied.push(route)))
  const own = ran('app')
  const preHandler = [own, own]
  app.get('/', { preHandler, exposeHeadRoute: false }, answer)
  await app.after()
  for (const route of copied) app.route({ ...route, url: '/copy' })
  t.equal(await namesOf(app), 'app app caching /')
  t.equal(await namesOf(app, '/copy'), 'app app caching /copy')
  t.strictSame(preHandler, [own, own], 'the options of the app stay as they are')
})

t.test('steps run in the order of the table, on paths without a route and in child contexts', async (t) => {
  const app = await appWith(noting('versions', 'onRequest'))
  app.addHook('onRequest', ran('app'))
  app.get('/early', answer)
  await app.register(async (child) => void child.get('/early/child', answer))
  const earlierRoutes = [{ url: '/early*', reason: 'it is declared by another plugin' }]
  await app.register(noting('rateLimit', 'onRequest'), { earlierRoutes })
  await app.register(noting('fields', 'preHandler'), { earlierRoutes })
  app.register(async (child) => {
    await child.register(noting('cors', 'onRequest'))
    child.get('/child', answer)
    child.register(async (grandchild) => {
      await grandchild.register(noting('maintenance', 'onRequest'))
      grandchild.get('/below', answer)
    })
  })
  app.get('/', answer)
  for (const [url, names] of [
    ['/', 'rateLimit versions app fields'],
    ['/nowhere', 'rateLimit versions app'],
    ['/early', 'rateLimit versions app'],
    // A context has what was there before it.
    ['/early/child', 'versions app'],
    ['/child', 'cors rateLimit versions app fields'],
    ['/below', 'cors maintenance rateLimit versions app fields'],
  ] as const)
    t.equal(await namesOf(app, url), names, url)
})

t.test('those of another package run after ours: before the hooks of the app, or the handler', async (t) => {
  const [tenant, xsrf] = [noting('tenant', 'onRequest'), noting('xsrf', 'onRequest')]
  const app = await appWith(tenant, noting('money', 'preHandler'), noting('caching'), xsrf)
  app.addHook('onRequest', ran('app'))
  app.get('/', { preHandler: ran('route') }, answer)
  t.equal(await namesOf(app), 'xsrf tenant app route caching money')
})

const rules = ['tidy', 'short'] as const

/** An app with a convention that has a step. */
async function tidied(step: RequestStep, options: object = {}, logger: object | false = false) {
  const tidiness = convention({
    name: 'tidiness',
    rules,
    options: ruleOptions(rules),
    routeOptions: routeRuleOptions(rules),
    setUp: () => null,
    route: () => ({ onRequest: step, preHandler: step }),
  })
  const app = await withPlugins(Fastify({ exposeHeadRoutes: false, logger }), [tidiness, options])
  return app
}

const refused: StepResult = {
  rule: 'tidy',
  given: 'untidy',
  refusal: new ProblemError('request-malformed', { detail: 'untidy' }),
}

const exceptions = [{ url: '/old/*', except: ['tidy'], reason: 'since 2019' }]

t.test('a step refuses, answers or sets headers; at once, or as a promise', async (t) => {
  const headersFor = (rule: string) => ({ rule, given: '', headers: { 'x-tidy': rule } })
  const answered = { status: 203, payload: 'tidied', headers: { 'x-tidy': 'a' } }
  const serialized = (reply: FastifyReply, own: object) => {
    reply.serializer(() => 'of the app')
    return { rule: 'tidy', answer: { ...answered, ...own } }
  }
  const cases: readonly (readonly [step: RequestStep, status: number, header?: string, body?: string])[] = [
    [() => undefined, 200],
    [async () => undefined, 200],
    [() => refused, 400],
    [async () => refused, 400],
    [() => headersFor('tidy'), 200, 'tidy'],
    [() => rules.map(headersFor), 200, 'short'],
    [() => ({ rule: 'tidy', given: '', answer: answered }), 203, 'a', 'tidied'],
    [() => ({ rule: 'tidy', notice: 'each rule', answer: answered }), 200],
    [(_, reply) => serialized(reply, { isWritten: true }), 203, 'a', 'tidied'],
    [(_, reply) => serialized(reply, { payload: {} }), 203, 'a', 'of the app'],
  ]
  for (const [step, status, header, body = 'done'] of cases) {
    const app = await tidied(step)
    app.get('/', answer)
    const response = await app.inject('/')
    t.equal(response.statusCode, status, String(step))
    t.equal(response.headers['x-tidy'], header, String(step))
    if (status < 400) t.equal(response.body, body, String(step))
    else t.match(response.headers['content-type'], 'application/problem+json', String(step))
  }
})

t.test('a notice is counted, and changes nothing', async (t) => {
  const notice = { rule: 'tidy', given: 'late', notice: 'each rule', headers: { 'x-tidy': 'a' } } as const
  const app = await tidied(() => notice)
  app.get('/', answer)
  t.notOk('x-tidy' in (await app.inject('/')).headers)
  t.match(app.conventions.report().observations, [{ rule: 'tidy', effect: 'none', example: 'late' }])
})

t.test('a later step replaces a header field in any case, and adds to Set-Cookie', async (t) => {
  const fieldsOf = (name: string, value: string, cookie: string | string[]) => ({
    rule: 'tidy',
    headers: { [name]: value, 'set-cookie': cookie },
  })
  for (const [first, second] of Object.entries({ 'X-Tidy': 'x-tidy', 'x-tidy': 'X-Tidy' })) {
    const app = await tidied(() => [fieldsOf(first, 'a', 'a=1'), fieldsOf(second, 'b', ['b=2'])])
    app.get('/', async (_request, reply) => Object.keys(reply.getHeaders()).join())
    const { headers, body } = await app.inject('/')
    t.equal(headers['x-tidy'], 'b', second)
    t.equal(body, 'x-tidy,set-cookie', second)
    t.strictSame(headers['set-cookie'], ['a=1', 'b=2', 'a=1', 'b=2'], 'the step runs twice')
  }
})

t.test('what a step throws is an error of the request, whatever it is', async (t) => {
  for (const thrown of [new Error('thrown'), undefined, null, 'text', 0]) {
    const throws = () => {
      throw thrown
    }
    for (const step of [() => Promise.reject(thrown), throws]) {
      const app = await tidied(step)
      app.get('/', async () => t.fail('the handler runs'))
      t.equal((await app.inject('/')).statusCode, 500, `${thrown} ${step}`)
      const { logger, lines } = keepLogs('error')
      const reporting = await tidied(step, { mode: 'report' }, logger)
      reporting.get('/', answer)
      t.equal((await reporting.inject('/')).statusCode, 200, `report: ${thrown} ${step}`)
      const { observations } = reporting.conventions.report()
      t.match(observations, [{ rule: 'error', effect: 'refused', status: 500 }], String(step))
      t.match(lines, [{ msg: /^tidiness: the step fails/ }])
      if (thrown instanceof Error) t.match(lines, [{ err: { message: 'thrown' } }])
    }
    const changing = await tidied(() => ({ rule: 'tidy', change: throws }))
    changing.get('/', async () => t.fail('the handler runs'))
    t.equal((await changing.inject('/')).statusCode, 500, `a change: ${thrown}`)
  }
})

t.test('a step that runs when there is a response can refuse it, and cannot answer', async (t) => {
  for (const phase of ['preSerialization', 'onSend'] as const) {
    const response = async (effect: StepResult) => {
      const app = Fastify()
      await app.register(convention({ ...ofModes, name: 'late', route: () => ({ [phase]: () => effect }) }))
      app.get('/', () => ({ done: true }))
      return app.inject('/')
    }
    const refusal = await response(refused)
    t.match(refusal, { statusCode: 400, headers: { 'content-type': /problem/ } }, phase)
    t.match(refusal.json(), { code: 'request-malformed', detail: 'untidy' }, phase)
    const message = `late: a step of ${phase} cannot answer`
    t.match((await response({ rule: 'late', answer: { status: 203 } })).json(), { statusCode: 500, message })
  }
})

t.test('steps after the hooks of a route, if any, see the problem of a refused response', async (t) => {
  const ofStep = (name: string, result: StepResult) =>
    convention({ ...ofModes, name, route: () => ({ onSend: () => result }) })
  const app = Fastify()
  await app.register(ofStep('caching', refused))
  await app.register(ofStep('versions', { rule: 'late', headers: { 'x-late': 'yes' } }))
  app.get('/', answer)
  t.match(await app.inject('/'), { statusCode: 400, headers: { 'x-late': 'yes' } })
})

t.test('in report mode effects are counted, and a needed one is applied', async (t) => {
  const isNeeded = { rule: 'short', given: 'long', headers: { 'x-tidy': 'needed' }, isNeeded: true }
  const app = await tidied(() => [refused as never, isNeeded], { mode: 'report' })
  app.get('/', answer)
  app.post('/', answer)
  app.head('/only', answer)
  const response = await app.inject('/')
  t.match(response, { statusCode: 200, body: 'done', headers: { 'x-tidy': 'needed' } })
  await app.inject({ method: 'POST', url: '/' })
  await app.inject({ method: 'HEAD', url: '/only' })
  const common = { plugin: 'tidiness', rule: 'tidy', effect: 'refused', status: 400, count: 2 }
  const routes = ['GET /', 'HEAD /only', 'POST /']
  for (const route of routes)
    t.match(app.conventions.report().observations.find((one) => one.route === route) ?? {}, {
      ...common,
      route,
    })
})

t.test('options of a route and exceptions decide the mode of a rule there', async (t) => {
  const app = await tidied(() => refused, { exceptions })
  const config = (tidiness: object | false): object => ({ config: { tidiness } })
  app.get('/refused', answer)
  app.get('/old/a', answer)
  app.get('/off', config(false), answer)
  app.get('/reported', config({ rules: { tidy: 'report' } }), answer)
  app.get('/excepted', config({ except: ['tidy'], reason: 'mine' }), answer)
  t.throws(() => app.get('/bad', config({ except: ['loud'], reason: 'x' }), answer), {
    message: /GET \/bad config\.tidiness\.except\[0\]/,
  })
  t.equal((await app.inject('/refused')).statusCode, 400)
  for (const url of ['/old/a', '/off', '/reported', '/excepted'])
    t.equal((await app.inject(url)).statusCode, 200, url)
  const declared = { plugin: 'tidiness', declared: true }
  t.match(app.conventions.report().exceptions, [
    { ...declared, route: 'GET /old/a', rules: ['tidy'], reason: 'since 2019' },
    { ...declared, route: 'GET /off', rules, reason: 'config.tidiness is false' },
    { ...declared, route: 'GET /excepted', rules: ['tidy'], reason: 'mine' },
  ])
})

t.test('a convention that is turned off, or in report mode, on a route does nothing there', async (t) => {
  const step = () => ({ rule: '*', headers: { 'x-tidy': 'yes' } })
  const route = ({ path, turnOff }: { readonly path: string; turnOff(): void }) => {
    if (path === '/off') turnOff()
    return { onRequest: step }
  }
  const app = Fastify()
  await app.register(convention({ ...ofModes, name: 'tidiness', route }))
  for (const path of ['/on', '/off']) app.get(path, answer)
  app.get('/reported', { config: { tidiness: { mode: 'report' } } as object }, answer)
  for (const [url, header] of Object.entries({ '/on': 'yes', '/off': undefined, '/reported': undefined }))
    t.equal((await app.inject(url)).headers['x-tidy'], header, url)
})

t.test('a plugin that does the same is a finding, with the routes that it serves', async (t) => {
  const other = Symbol('other')
  const isIn = (app: FastifyInstance) => other in app
  const neighbours = [{ name: 'other', isIn, problem: 'is tidy, too', instead: 'one of both' }]
  const route = () => ({ onRequest: () => ({ rule: '*', headers: { 'x-tidy': 'yes' } }) })
  for (const [count, name] of [
    [3, 'GET /child/0; GET /child/1; GET /child/2'],
    [4, 'GET /child/0; GET /child/1; GET /child/2 and 1 more'],
  ] as const) {
    const app = Fastify()
    await app.register(convention({ ...ofModes, name: 'tidiness', neighbours, route }))
    app.get('/', answer)
    await app.register(
      async (child) => {
        child.decorate(other, true)
        for (let index = 1; index < count; index += 1) child.get(`/${index - 1}`, answer)
        await child.register(async (below) => void below.get(`/${count - 1}`, answer))
      },
      { prefix: '/child' },
    )
    t.match((await app.inject('/')).headers, { 'x-tidy': 'yes' })
    t.notOk('x-tidy' in (await app.inject('/child/0')).headers)
    const { findings } = app.conventions.report()
    t.match(findings, [
      { plugin: 'tidiness', rule: 'overlap', problem: 'other is tidy, too', effect: 'none' },
    ])
    t.strictSame(
      findings.map(({ route }) => route),
      [name],
      'the topmost context of it',
    )
  }
  const off = Fastify().decorate(other, true)
  await off.register(convention({ ...ofModes, name: 'tidiness', neighbours, route }), { mode: 'off' })
  await off.ready()
  t.strictSame(off.conventions.report().findings, [], 'none beside a convention that is off')
})

t.test('beside @fastify/cors, a step that preflights are exempt from leaves them to it', async (t) => {
  const route = () => ({ onRequest: () => refused })
  const tidiness = convention({ ...ofModes, name: 'tidiness', exemptsPreflights: true, route })
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
  for (const [plugins, ofCors, status] of [
    [[fastifyCors, tidiness], {}, 204],
    [[tidiness, fastifyCors], {}, 204],
    [[tidiness, fastifyCors], { origin: false }, 400],
  ] as const) {
    const app = Fastify()
    for (const plugin of plugins)
      await app.register(plugin as typeof fastifyCors, plugin === fastifyCors ? ofCors : {})
    app.route({ method: ['GET', 'OPTIONS'], url: '/own', handler: answer })
    app.get('/', answer)
    for (const [url, method, headers, expected] of [
      ['/', 'OPTIONS', preflight, status],
      ['/own', 'OPTIONS', preflight, status],
      ['/', 'GET', preflight, 400],
      ['/own', 'OPTIONS', {}, 400],
      ['/own', 'GET', {}, 400],
    ] as const) {
      t.equal((await app.inject({ method, url, headers })).statusCode, expected, `${method} ${url}`)
    }
  }
})

t.test('without problems, the log says at boot that other errors stay as they are', async (t) => {
  const [plugin, named] = ['tidiness', 'problems'].map((name) =>
    convention({ ...ofModes, name, route: () => undefined }),
  ) as [FastifyPluginAsync<object>, FastifyPluginAsync<object>]
  for (const [plugins, options, count] of [
    [[plugin], {}, 1],
    [[plugin], { mode: 'report' }, 0],
    [[plugin, named], {}, 0],
    [[conventions as FastifyPluginAsync<object>], {}, 0],
    [[conventions as FastifyPluginAsync<object>], { problems: false }, 0],
  ] as const) {
    const logs = keepLogs('info')
    const app = Fastify({ logger: logs.logger })
    for (const one of plugins) await app.register(one, options as object)
    await app.ready()
    const told = logs.lines.map(({ msg }) => msg?.includes('without the plugin problems'))
    t.strictSame(told, Array(count).fill(true))
  }
})

t.test('a step has one place in a phase; hooks of the app come before those of the route', async (t) => {
  for (const phase of phases) {
    t.equal(new Set(order[phase]).size, order[phase].length, phase)
    const sides = ['hooks of the app', 'hooks of the route'].map((step) => placeOf(phase, step).side)
    t.strictSame(sides, ['beforeRoute', 'afterRoute'], phase)
  }
})

t.test('explain() returns the steps that a request passed, and what each said', async (t) => {
  const app = await tidied(() => refused)
  const step = async () => ({ rule: '*', given: '', headers: { vary: 'origin' } })
  await app.register(convention({ ...ofModes, name: 'cors', route: () => ({ onRequest: step }) }))
  await app.register(noting('versions', 'onRequest'))
  app.get('/', answer)
  const both = [app.conventions.explain('/'), app.conventions.explain('/')]
  await app.inject('/')
  const phase = 'onRequest'
  const steps = [
    { phase, step: 'cors', said: 'headers', detail: 'vary' },
    { phase, step: 'versions', said: 'nothing', detail: '' },
    { phase, step: 'tidiness', said: 'refused', detail: '400 request-malformed' },
  ]
  for (const explanation of await Promise.all(both)) t.strictSame(explanation, { status: 400, steps })
  t.equal(witness.see, null, 'other requests are not watched')
  t.equal((await app.conventions.explain('/nowhere')).steps.length, 3)
})

t.test('what explain() says of a step follows its mode', async (t) => {
  const { refusal } = refused
  const tidy = (members: object) => () => ({ rule: 'tidy', ...members })
  const rows: readonly (readonly [step: RequestStep, options: object, said: string, detail: string])[] = [
    [() => refused, { mode: 'report' }, 'counted', 'tidy: untidy'],
    [tidy({ refusal }), { mode: 'report' }, 'counted', 'tidy: untidy'],
    [tidy({ headers: {} }), { mode: 'report' }, 'counted', 'tidy: '],
    [tidy({ given: 'late', notice: 'each rule' }), {}, 'counted', 'tidy: late'],
    [() => refused, { rules: { tidy: 'off' } }, 'nothing', ''],
    [tidy({ answer: { status: 203 } }), {}, 'answered', '203'],
    [tidy({ headers: { vary: 'a', via: 'b' } }), {}, 'headers', 'vary, via'],
    [tidy({ change: () => {} }), {}, 'changed', 'tidy'],
  ]
  for (const [step, options, said, detail] of rows) {
    const app = await tidied(step, options)
    app.get('/', answer)
    const { steps } = await app.conventions.explain('/')
    t.strictSame(steps[0], { phase: 'onRequest', step: 'tidiness', said, detail })
  }
  const app = await tidied(() => [refused as never, { ...refused, rule: 'short' }], { mode: 'report' })
  t.equal((await app.conventions.explain('/')).steps.length, 2, 'each effect')
})

t.test('watch() returns the steps of its request alone, also after the body', async (t) => {
  const app = Fastify()
  const watched: (readonly { readonly step: string }[])[] = []
  app.addHook('onRequest', async (request) => {
    if (request.headers.watched !== undefined) watched.push(app.conventions.watch(request))
  })
  await app.register(noting('versions', 'onRequest'))
  await app.register(noting('fields', 'preHandler'))
  app.post('/', answer)
  const { origin } = await serve(t, app)
  const post = (headers: Record<string, string>) => fetch(origin, { method: 'POST', body: 'a', headers })
  await Promise.all([post({}), post({ watched: '1' }), post({ watched: '1' })])
  const steps = watched.map((one) => one.map(({ step }) => step).join())
  t.strictSame(steps, ['versions,fields', 'versions,fields'])
})
