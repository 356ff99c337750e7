import { deepEqual } from 'node:assert/strict'
import { Readable } from 'node:stream'
import AjvCompiler from '@fastify/ajv-compiler'
import swagger from '@fastify/swagger'
import fc from 'fast-check'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import t from 'tap'
import { methodOverride } from '../../../src/plugins/method-override/index.js'
import { takeField } from '../../../src/plugins/method-override/override.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs } from '../../support/logs.js'
import { withoutReferences } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'
import { inRuns } from '../../support/property.js'

const header = (method: string) => ({ 'x-http-method-override': method })
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const chunked = { 'transfer-encoding': 'chunked' }
const crossSite = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }

type Headers = Readonly<Record<string, string>>
const byHeader = (method: string, fields: Headers = {}) => ({ headers: { ...fields, ...header(method) } })
const byForm = (payload: string | Readable, fields: Headers = {}) => {
  return { headers: { ...form, ...fields }, payload }
}
const post = (app: FastifyInstance, options: InjectOptions, url = '/v1/users/7') =>
  app.inject({ method: 'POST', url, ...options })

const ageSchema = {
  body: { type: 'object', properties: { age: { type: 'integer' } }, additionalProperties: false },
}

function addRoutes(app: FastifyInstance): void {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    app.route({
      method,
      url: '/v1/users/:id',
      ...(method === 'PATCH' ? { schema: ageSchema } : {}),
      handler: ({ method: performed, originalMethod, params, body = null }) => {
        return { route: method, method: performed, originalMethod, params, body }
      },
    })
  }
  app.get('/v1/users', () => ({ route: 'GET' }))
  app.post('/v1/users', () => ({ route: 'POST' }))
}

async function usualApp(options = {}): Promise<FastifyInstance> {
  const app = await appOf(problems, [methodOverride, options])
  addRoutes(app)
  return app
}

/** A parser of the app, which hands forms over as text. */
function takeForms(app: FastifyInstance, type: string | RegExp = form['content-type']): void {
  app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
}

/** The methods for which handlers run. */
function noteHandlers(app: FastifyInstance): string[] {
  const ran: string[] = []
  app.addHook('preHandler', async (request) => {
    if (!request.is404) ran.push(request.method)
  })
  return ran
}

t.test('a POST is performed as the method that its header or its form names', async (t) => {
  const app = await usualApp()
  const age = { age: 31 }
  const many = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`f${at}`, '1']))
  const pieces = Readable.from(['_meth', 'od=PATCH&a', 'ge=31'].map((piece) => Buffer.from(piece)))
  const withCharset = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8' }
  for (const [about, options, route, body] of [
    ['header in any case, with spaces', byHeader(' delete '), 'DELETE', null],
    ['header, JSON', { ...byHeader('PATCH'), payload: age }, 'PATCH', age],
    ['header DELETE, JSON and nothing', byHeader('DELETE', json), 'DELETE', null],
    ['header DELETE, JSON and content', { ...byHeader('DELETE'), payload: age }, 'DELETE', age],
    ['form', byForm('_method=PATCH&age=31'), 'PATCH', age],
    ['form, encoded name', byForm('%5Fmethod=PATCH&age=31'), 'PATCH', age],
    ['form, DELETE alone', byForm('_method=DELETE'), 'DELETE', null],
    ['form, PATCH alone', byForm('_method=PATCH'), 'PATCH', {}],
    ['form, PUT', byForm('_method=PUT&a=1&a=2&b=%C3%A4'), 'PUT', { a: ['1', '2'], b: 'ä' }],
    ['with a charset, in pieces', byForm(pieces, { ...withCharset, ...chunked }), 'PATCH', age],
    ['both agree', byForm('_method=PATCH&age=31', header('patch')), 'PATCH', age],
    ['header, and a form', byForm('age=31', header('PATCH')), 'PATCH', age],
    ['1500 fields', byForm(`_method=PUT&${new URLSearchParams(many)}`), 'PUT', many],
  ] as const) {
    const expected = { route, method: route, originalMethod: 'POST', params: { id: '7' }, body }
    t.strictSame((await post(app, options)).json(), expected, about)
  }
})

t.test('requests without an override, or with one in another place, do not change', async (t) => {
  const app = await usualApp()
  const inQuery = { url: '/v1/users/7?_method=DELETE' }
  const text = { headers: { 'content-type': 'text/plain' }, payload: '_method=DELETE' }
  for (const [about, options, route, body] of [
    ['garbage on a GET', { method: 'GET', ...byHeader('TRACE') }, 'GET', null],
    ['a form in a GET', { method: 'GET', ...byForm('_method=DELETE', header('DELETE')) }, 'GET', null],
    ['the header on a PUT', { method: 'PUT', ...byHeader('DELETE'), payload: { a: 1 } }, 'PUT', { a: 1 }],
    ['the query of a POST', inQuery, 'POST', null],
    ['JSON', { payload: { _method: 'DELETE' } }, 'POST', { _method: 'DELETE' }],
    ['text', text, 'POST', '_method=DELETE'],
  ] as const) {
    const expected = { route, method: route, originalMethod: route, params: { id: '7' }, body }
    t.strictSame((await post(app, options)).json(), expected, about)
  }
})

const invalid = { status: 400, code: 'method-override-invalid' }
const notFound = { status: 404, code: 'not-found' }

t.test('an invalid override is a 400 that names the header or the field, and no handler runs', async (t) => {
  const app = await usualApp()
  app.post('/v1/orders', () => ({}))
  const ran = noteHandlers(app)
  const inHeader = { in: 'header', name: 'x-http-method-override' }
  const inField = { in: 'body', pointer: '/_method' }
  const long = 'X'.repeat(5000)
  const isCut = /^.{100,149}$/
  // Where no route serves the path, no form is read: the header alone counts.
  for (const [options, onUnknownPath, errors, detail = /./] of [
    [byHeader('TRACE'), invalid, [inHeader], "A POST cannot be performed as 'TRACE'"],
    [byHeader(''), invalid, [inHeader]],
    [byHeader('DELETE, PUT'), invalid, [inHeader]],
    [byHeader('toString'), invalid, [inHeader]],
    [byHeader(long), invalid, [inHeader], isCut],
    [byForm('_method='), notFound, [inField]],
    [byForm('_method=%C5%BF'), notFound, [inField]],
    [byForm('_method=TRACE&age=31'), notFound, [inField]],
    [byForm('_method=PUT&_method=PUT'), notFound, [inField]],
    [byForm('_method=PUT', header('DELETE')), notFound, [inHeader], /'DELETE' and 'PUT'$/],
    [byForm('_method=CONNECT', header('TRACE')), invalid, [inHeader, inField], /'TRACE' and 'CONNECT'$/],
    [byForm('_method=PUT&_method=PUT', header('PUT')), notFound, [inField]],
    [byForm('_method=delete', { origin: 'null' }), notFound, [inField], /from the origin null .* DELETE$/],
    [byForm('_method=PUT', { 'sec-fetch-site': 'cross-site' }), notFound, [inField], /from another origin /],
    [byForm('_method=PUT', { origin: long }), notFound, [inField], isCut],
  ] as const) {
    const about = JSON.stringify(options).slice(0, 200)
    for (const url of ['/v1/users/7', '/v1/orders']) {
      const document = isProblem(t, injected(await post(app, options, url)), { ...invalid, detail }, about)
      t.match(document, { errors: { ...errors, length: errors.length } }, `${url} ${about}`)
    }
    isProblem(t, injected(await post(app, options, '/v1/nothing')), onUnknownPath, about)
  }
  t.strictSame(ran, [])
})

t.test('a form with a field __proto__ is refused, as JSON with it is', async (t) => {
  const app = await usualApp()
  const ran = noteHandlers(app)
  const forms = ['__proto__=a', '%5F_proto__=a&__proto__=b'].map((fields) => byForm(`_method=PUT&${fields}`))
  for (const options of [...forms, { ...byHeader('PUT', json), payload: '{"__proto__":"a"}' }]) {
    const about = JSON.stringify(options)
    isProblem(t, injected(await post(app, options)), { status: 400, code: 'body-malformed' }, about)
  }
  t.strictSame(ran, [])
})

t.test('the schema converts a form like a query, if the validator does not convert bodies', async (t) => {
  const app = Fastify()
  const build = AjvCompiler()
  const compileBody = build({}, { customOptions: { coerceTypes: false } })
  const compileQuery = build({}, { customOptions: { coerceTypes: 'array' } })
  app.setValidatorCompiler((route) => (route.httpPart === 'body' ? compileBody(route) : compileQuery(route)))
  await app.register(problems)
  await app.register(methodOverride)
  const properties = {
    age: { type: 'integer' },
    active: { type: 'boolean' },
    note: { type: ['string', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    ids: { type: 'array', items: { type: 'integer' } },
  }
  const body = { type: 'object', properties, additionalProperties: false }
  const schemas = { users: body, teams: { content: { [form['content-type']]: { schema: body } } } }
  for (const [name, schema] of Object.entries(schemas))
    app.patch(`/v1/${name}/:id`, { schema: { body: schema } }, async ({ body }) => ({ body }))
  for (const url of ['/v1/users/7', '/v1/teams/7']) {
    // What is accepted, or the pointer of the refusal.
    for (const [fields, expected] of [
      ['age=31&active=true&note=a&tags=x', { age: 31, active: true, note: 'a', tags: ['x'] }],
      ['age=9007199254740991&ids=1&ids=2', { age: Number.MAX_SAFE_INTEGER, ids: [1, 2] }],
      ['age=9007199254740993', '/age'],
      ['ids=9007199254740993&ids=1', '/ids/0'],
      ['age=old', '/age'],
    ] as const) {
      const answer = (await post(app, byForm(`_method=PATCH&${fields}`), url)).json()
      const refusal = { status: 400, errors: [{ in: 'body', pointer: expected }] }
      // A match would take a text for its number.
      if (typeof expected === 'string') t.match(answer, refusal, `${url} ${fields}`)
      else t.strictSame(answer, { body: expected }, `${url} ${fields}`)
    }
  }
  const inJson = await app.inject({ method: 'PATCH', url: '/v1/users/7', payload: { age: '31' } })
  t.equal(inJson.statusCode, 400, 'JSON is as it was')
})

t.test('a validator that returns the converted value, such as that of Joi, converts forms', async (t) => {
  const app = Fastify()
  app.setValidatorCompiler(() => (form: { readonly age: string }) => {
    const value = { age: Number(form.age) }
    return Number.isNaN(value.age) ? { error: new Error('age is not a number') } : { value }
  })
  await app.register(methodOverride)
  app.patch('/v1/users/:id', { schema: { body: {} }, attachValidation: true }, async ({ body }) => ({ body }))
  t.strictSame((await post(app, byForm('_method=PATCH&age=31'))).json(), { body: { age: 31 } })
  t.strictSame((await post(app, byForm('_method=PATCH&age=old'))).json(), { body: { age: 'old' } })
})

t.test('forms of this origin, without a browser, or with the header are performed', async (t) => {
  const app = await usualApp({ formOrigins: ['https://app.example'] })
  const byField = (fields: Headers) => byForm('_method=DELETE', fields)
  for (const [about, options, status] of [
    ['no browser', byField({}), 200],
    ['a page of this origin', byField({ 'sec-fetch-site': 'same-origin' }), 200],
    ['the header, which took a preflight', byHeader('DELETE', crossSite), 200],
    ['the header, and the form', byField({ ...crossSite, ...header('delete') }), 200],
    ['a page of formOrigins', byField({ ...crossSite, origin: 'https://app.example' }), 200],
    ['its host over plain HTTP', byField({ ...crossSite, origin: 'http://app.example' }), 400],
    ['an opaque origin', byField({ ...crossSite, origin: 'null' }), 400],
  ] as const)
    t.equal((await post(app, options)).statusCode, status, about)
})

t.test('an override to a method without a route is a 405 with Allow', async (t) => {
  const app = await usualApp()
  const allow = 'GET, HEAD, OPTIONS, POST'
  const forms = ['_method=DELETE', '_method=PATCH&age=31'].map((form) => byForm(form))
  for (const options of [byHeader('DELETE'), byHeader('DELETE', json), ...forms]) {
    const response = await post(app, options, '/v1/users')
    isProblem(t, injected(response), { status: 405, code: 'method-not-allowed' })
    t.equal(response.headers.allow, allow)
  }
})

t.test('hooks run once, and the log has one pair of lines, with the overriding method', async (t) => {
  const { logger, lines } = keepLogs('info')
  const app = await withPlugins(Fastify({ logger }), methodOverride)
  const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend']
  for (const name of hooks)
    app.addHook(name as 'onRequest', async ({ log, method }) => log.info(`${name} ${method}`))
  addRoutes(app)
  for (const [options, method, originalMethod] of [
    [{ ...byHeader('PATCH'), payload: { age: 31 } }, 'PATCH', 'POST'],
    [byForm('_method=PATCH&age=31'), 'PATCH', 'POST'],
    [{}, 'POST', undefined],
  ] as const) {
    await app.ready()
    lines.length = 0
    await post(app, options)
    t.match(lines.shift(), { msg: 'incoming request', req: { method } })
    const messages = [...hooks.map((name) => `${name} ${method}`), 'request completed']
    const told = lines.map((line) => [line.msg, line.originalMethod])
    const expected = messages.map((message) => [message, originalMethod])
    t.strictSame(told, expected)
  }
})

t.test('a form without an override is accepted only if the app accepts forms', async (t) => {
  const refused = await post(await usualApp(), byForm('a=1'))
  isProblem(t, injected(refused), { status: 415, code: 'unsupported-media-type' })
  t.equal(refused.headers.accept, 'application/json', 'and Accept does not list it')
  const taking = await usualApp()
  takeForms(taking)
  for (const [options, body] of [
    [byForm('age=31', crossSite), 'age=31'],
    [{ headers: { ...form, 'content-length': '0' } }, ''],
    [byForm(Readable.from([]), chunked), '&'],
  ] as const)
    t.match((await post(taking, options)).json(), { route: 'POST', body }, JSON.stringify(body))
  for (const [order, type] of [
    ['before', form['content-type']],
    ['after', /^application\/.*form/],
    ['in a child', '*'],
  ] as const) {
    const app = Fastify()
    if (order === 'before') takeForms(app, type)
    await app.register(methodOverride)
    if (order === 'after') takeForms(app, type)
    await app.register(async (child) => {
      if (order === 'in a child') takeForms(child, type)
      addRoutes(child)
    })
    for (const [payload, route] of [['a=1', 'POST'] as const, ['_method=PUT&a=1', 'PUT'] as const])
      t.match((await post(app, byForm(payload))).json(), { route, body: 'a=1' }, order)
  }
})

t.test('a form over the limit is a 413, unless the route has a larger limit', async (t) => {
  const app = await withPlugins(Fastify({ bodyLimit: 100 }), problems, methodOverride)
  takeForms(app)
  const length = ({ body }: { readonly body: unknown }) => ({ length: String(body).length })
  app.post('/v1/small', length)
  app.put('/v1/small', { bodyLimit: 50 }, length)
  app.post('/v1/large', { bodyLimit: 1000 }, length)
  // Constraints that Fastify has do not make the plugin read forms of unknown paths.
  app.get('/v1/hosts', { constraints: { host: 'a.example', version: '1.0.0' } }, () => ({}))
  const x = (count: number) => 'x'.repeat(count)
  for (const [about, url, payload, expected] of [
    ['a form over the limit', '/v1/small', `_method=PUT&a=${x(200)}`, { status: 413, connection: 'close' }],
    ['without the field', '/v1/small', `a=${x(200)}`, { status: 413, connection: 'close' }],
    ['no route: not read', '/v1/nothing', `_method=PUT&a=${x(200)}`, { status: 404 }],
    ['a larger limit: not searched', '/v1/large', `_method=PUT&a=${x(200)}`, { length: 214 }],
    ['below the limit', '/v1/small', `_method=PUT&a=${x(30)}`, { length: 32 }],
    ['over that of the PUT route', '/v1/small', `_method=PUT&a=${x(60)}`, { status: 413 }],
  ] as const) {
    const answer = await post(app, byForm(payload), url)
    t.match({ ...answer.json(), connection: answer.headers.connection }, expected, about)
  }
})

t.test('a form with a content coding is not searched, and reaches only a parser of the app', async (t) => {
  const coded = { ...form, 'content-encoding': 'x-rot13' }
  for (const isParsed of [true, false]) {
    const app = await appOf(methodOverride)
    if (isParsed) takeForms(app)
    addRoutes(app)
    for (const [route, headers] of Object.entries({ POST: coded, PUT: { ...coded, ...header('PUT') } })) {
      const response = await post(app, { headers, payload: '_method=DELETE' })
      if (isParsed) t.match(response.json(), { route, body: '_method=DELETE' })
      else t.equal(response.statusCode, 415)
    }
  }
})

t.test('methods and form are options', async (t) => {
  for (const [options, request, expected] of [
    [{ methods: ['PUT'] }, byHeader('put'), { route: 'PUT', originalMethod: 'POST' }],
    [{ methods: ['PUT'] }, byHeader('DELETE'), { status: 400 }],
    [{ methods: ['PUT'] }, byForm('_method=DELETE'), { status: 400 }],
    // As without the plugin.
    [{ form: false }, byForm('_method=DELETE'), { status: 415 }],
    [{ form: false }, byHeader('DELETE'), { route: 'DELETE', originalMethod: 'POST' }],
  ] as const) {
    const answer = await post(await usualApp(options), request)
    t.match(answer.json(), expected, JSON.stringify([options, request]))
  }
})

t.test('invalid options are refused at registration', async (t) => {
  const code = 'FST_CONV_OPTION_INVALID'
  for (const [options, message] of [
    [{ methods: [] }, /methodOverride\.methods.*at least one/],
    [{ methods: ['PUT', 'GET'] }, /methodOverride\.methods\[1\].*'GET'/],
    [{ methods: ['xPUT'] }, /methodOverride\.methods\[0\].*uppercase/],
    [{ methods: ['PUT!'] }, /methodOverride\.methods\[0\]/],
    [{ formOrigins: ['null'] }, /methodOverride\.formOrigins\[0\].*'null'/],
    [{ formOrigins: [crossSite.origin, '*'] }, /methodOverride\.formOrigins\[1\].*'\*'/],
    [{ formOrigins: ['https://a.example/'] }, /methodOverride\.formOrigins\[0\].*without a path/],
  ] as const)
    await t.rejects(async () => Fastify().register(methodOverride, options as object), { code, message })
})

t.test('report changes nothing, and counts overrides and refusals; off does not count', async (t) => {
  const forms = ['_method=DELETE', '_method=TRACE&a=1', `a=${'x'.repeat(2000)}`, 'a=1']
  const foreign = ['_method=PUT&a=1', 'a=1'].map((form) => byForm(form, crossSite))
  const headers = [byHeader('DELETE'), byHeader('DELETE', json), byHeader('TRACE')]
  const cases: readonly InjectOptions[] = [...headers, ...forms.map((form) => byForm(form)), ...foreign]
  const answersOf = async (mode: 'report' | 'off' | null, formsAreTaken: boolean) => {
    const app = Fastify({ bodyLimit: 1000 })
    if (mode !== null) await app.register(methodOverride, { mode })
    if (formsAreTaken) takeForms(app)
    app.post('/v1/users/:id', (request) => [request.method, request.body ?? null])
    app.delete('/v1/users/:id', () => 'deleted')
    const answers: unknown[] = []
    for (const options of cases) {
      const { headers, statusCode, payload } = await post(app, options)
      answers.push([statusCode, { ...headers, date: '' }, payload])
    }
    return { answers, app }
  }
  const performed = { rule: 'performed', route: '/v1/users/:id', count: 3, example: 'POST as DELETE' }
  const refused = { rule: 'refused', effect: 'refused', status: 400, count: 3, example: /TRACE/ }
  const anyway = { rule: 'refused', effect: 'changed', count: 2, example: /TRACE.*: 415 anyway/ }
  for (const formsAreTaken of [true, false]) {
    const bare = await answersOf(null, formsAreTaken)
    t.strictSame((await answersOf('off', formsAreTaken)).answers, bare.answers)
    const { answers, app } = await answersOf('report', formsAreTaken)
    t.strictSame(answers, bare.answers)
    const expected = formsAreTaken ? [performed, refused] : [performed, { ...refused, count: 1 }, anyway]
    t.match(app.conventions.report().observations, expected)
  }
})

t.test('in a context below, the plugin serves the paths below its prefix', async (t) => {
  const app = await appOf(problems)
  // '/legacy' is above a context. The prefix of '/older' begins with that of a context, and is not below it.
  for (const url of ['/v1/users/:id', '/legacy', '/older/users']) {
    app.post(url, () => ({ route: 'POST' }))
    if (url !== '/legacy') app.delete(url, () => ({ route: 'DELETE' }))
  }
  for (const prefix of ['/old', '/legacy/:tenant', '/old/strict']) {
    const serve = async (child: FastifyInstance) => {
      await child.register(methodOverride, prefix === '/old/strict' ? { methods: ['PUT'] } : {})
      addRoutes(child)
    }
    await app.register(serve, { prefix })
  }
  const patched = { route: 'PATCH', originalMethod: 'POST', body: { age: 31 } }
  for (const [url, options, expected] of [
    ['/v1/users/7', byHeader('DELETE'), { route: 'POST' }],
    ['/older/users', byHeader('DELETE'), { route: 'POST' }],
    ['/legacy', byHeader('DELETE'), { route: 'POST' }],
    ['/old/v1/users/7', byForm('_method=PATCH&age=31'), patched],
    ['/old/v1/users/7', byHeader('TRACE'), invalid],
    ['/legacy/acme/v1/users/7', byHeader('DELETE'), { route: 'DELETE' }],
    ['/legacy/acme/v1/users/7', byHeader('TRACE'), invalid],
    ['/old/strict/v1/users/7', byHeader('DELETE'), invalid],
    ['/old/strict/v1/users/7', byHeader('PUT'), { route: 'PUT' }],
    ['/old/v1/users', byHeader('DELETE'), { status: 405, code: 'method-not-allowed' }],
  ] as const)
    t.match((await post(app, options, url)).json(), expected, `${url} ${JSON.stringify(options)}`)
})

t.test('constraints and routes of the app work as before', async (t) => {
  const app = await usualApp()
  const constraints = { host: 'a.example' }
  app.get('/v1/hosts', { constraints }, () => ({ host: 'a' }))
  app.delete('/v1/hosts', { constraints }, () => ({ host: 'deleted' }))
  t.strictSame((await app.inject({ url: '/v1/hosts', headers: constraints })).json(), { host: 'a' })
  for (const options of [byHeader('DELETE', constraints), byForm('_method=DELETE', constraints)])
    t.strictSame((await post(app, options, '/v1/hosts')).json(), { host: 'deleted' })
  const absent = await post(app, byHeader('PUT', constraints), '/v1/hosts')
  t.equal(absent.headers.allow, 'DELETE, GET, HEAD, OPTIONS')
  t.notMatch(app.printRoutes(), /methodOverride/)

  const routes = new Map<string, never>()
  const tenant = {
    name: 'tenant',
    validate: () => {},
    storage: () => ({ get: (name: string) => routes.get(name) ?? null, set: routes.set.bind(routes) }),
    deriveConstraint: ({ headers }: { readonly headers: object }) => Reflect.get(headers, 'x-tenant'),
  }
  const own = await withPlugins(Fastify({ constraints: { tenant } }), methodOverride)
  own.delete('/v1/users/:id', { constraints: { tenant: 'a' } }, () => ({ route: 'DELETE' }))
  const answer = await post(own, byForm('_method=DELETE', { 'x-tenant': 'a' }))
  t.same(answer.json(), { route: 'DELETE' }, 'a constraint of the app')
})

t.test('what only a proxy serves is passed on: with the field, and the header is not followed', async (t) => {
  const app = await appOf(methodOverride)
  takeForms(app)
  for (const url of ['/old', '/old/*', '/*']) {
    const method = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
    app.route({ method, url, handler: ({ method, body }) => ({ method, body }) })
  }
  app.delete('/v1/users/:id', () => ({ route: 'DELETE' }))
  const body = '_method=DELETE&name=Ada'
  for (const options of [byForm(body), byForm(body, header('DELETE'))]) {
    for (const url of ['/old', '/old/users/7', '/elsewhere'])
      t.strictSame((await post(app, options, url)).json(), { method: 'POST', body }, url)
    t.strictSame((await post(app, options)).json(), { route: 'DELETE' }, 'a route of the service')
  }
  t.strictSame((await post(app, byHeader('DELETE'))).json(), { route: 'DELETE' }, 'by header')
})

t.test('the OpenAPI document has the header on other methods, and the refusals on POST', async (t) => {
  const app = await appOf([swagger, { openapi: {} }], methodOverride)
  const schema = { response: { 200: { type: 'object' } } }
  for (const method of ['GET', 'POST', 'DELETE'])
    app.route({ method, url: '/v1/users', schema, handler: () => ({}) })
  await app.ready()
  const { paths } = withoutReferences(app.swagger())
  const { get, post, delete: remove } = paths?.['/v1/users'] ?? {}
  const schemaOfHeader = { type: 'string', enum: ['DELETE'] }
  const field = { in: 'header', name: 'X-HTTP-Method-Override', schema: schemaOfHeader }
  t.match(remove, { parameters: [field], responses: { 400: undefined, 405: undefined } })
  const allow = { 405: { headers: { Allow: { schema: { type: 'string' } } } } }
  t.match(post, { parameters: undefined, responses: allow })
  t.match(JSON.stringify(post?.responses), /method-override-invalid.*method-not-allowed/)
  t.match(get, { parameters: undefined, responses: { 405: undefined } })
})

t.test('a field is taken out of a form, and the other bytes do not change', async (t) => {
  for (const [form, values, rest] of [
    ['_method', [''], ''],
    ['%5Fmethod=PA%54CH&a=%zz', ['PATCH'], 'a=%zz'],
    ['_method=%zz', ['%zz'], ''],
    ['_METHOD=PATCH&x_method=PATCH', [], '_METHOD=PATCH&x_method=PATCH'],
    ['_method=PUT&a=1&&b=2&', ['PUT'], 'a=1&&b=2&'],
    ['a=1;_method=PATCH', [], 'a=1;_method=PATCH'],
  ] as const)
    t.strictSame(takeField(form, '_method'), { values, rest }, form)
})

t.test('any form: the removed field and the rest are those that a parser reads', async () => {
  const name = fc.constantFrom('_method', 'age', '_meth', 'ä&=', ' ')
  const pairs = fc.array(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 8 })), { maxLength: 6 })
  inRuns(500, pairs, (pairs) => {
    const form = new URLSearchParams(pairs).toString()
    const { values, rest } = takeField(form, '_method')
    const expected = new URLSearchParams(form)
    deepEqual(values, expected.getAll('_method'))
    expected.delete('_method')
    deepEqual([...new URLSearchParams(rest)], [...expected])
  })
})
