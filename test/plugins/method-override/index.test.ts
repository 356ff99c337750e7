import { Readable } from 'node:stream'
import AjvCompiler from '@fastify/ajv-compiler'
import Fastify, { type FastifyInstance, type FastifyRequest, type InjectOptions } from 'fastify'
import t from 'tap'
import { methodOverride } from '../../../src/plugins/method-override/index.js'
import { problems } from '../../../src/plugins/problems/index.js'
import { keepLogs } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const header = (method: string) => ({ 'x-http-method-override': method })
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const crossSite = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }

const ageSchema = {
  body: { type: 'object', properties: { age: { type: 'integer' } }, additionalProperties: false },
}

/** What a handler of the test sees. */
interface Seen {
  readonly route: string
  readonly method: string
  readonly originalMethod: string
  readonly params: unknown
  readonly body: unknown
}

function addRoutes(app: FastifyInstance): void {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    app.route({
      method,
      url: '/v1/users/:id',
      ...(method === 'PATCH' ? { schema: ageSchema } : {}),
      handler: (request): Seen => ({
        route: method,
        method: request.method,
        originalMethod: request.originalMethod,
        params: request.params,
        body: request.body ?? null,
      }),
    })
  }
  app.get('/v1/users', () => ({ route: 'GET' }))
  app.post('/v1/users', () => ({ route: 'POST' }))
}

async function usualApp(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  await app.register(methodOverride)
  addRoutes(app)
  return app
}

t.test('a POST is performed as the method that its header or its form names', async (t) => {
  const app = await usualApp()
  const cases: readonly (readonly [about: string, options: InjectOptions, route: string, body: unknown])[] = [
    ['header', { headers: header('DELETE') }, 'DELETE', null],
    ['header in any case', { headers: header('delete') }, 'DELETE', null],
    ['header, JSON', { headers: header('PATCH'), payload: { age: 31 } }, 'PATCH', { age: 31 }],
    ['header, JSON, PUT', { headers: header('put'), payload: { a: [1] } }, 'PUT', { a: [1] }],
    ['header DELETE, JSON and nothing', { headers: { ...header('DELETE'), ...json } }, 'DELETE', null],
    [
      'header DELETE, JSON of length 0',
      { headers: { ...header('DELETE'), ...json, 'content-length': '0' } },
      'DELETE',
      null,
    ],
    ['header DELETE, JSON and content', { headers: header('DELETE'), payload: { a: 1 } }, 'DELETE', { a: 1 }],
    [
      'header DELETE, JSON, length unknown, empty',
      {
        headers: { ...header('DELETE'), ...json, 'transfer-encoding': 'chunked' },
        payload: Readable.from([]),
      },
      'DELETE',
      null,
    ],
    [
      'header DELETE, JSON, length unknown, content',
      {
        headers: { ...header('DELETE'), ...json, 'transfer-encoding': 'chunked' },
        payload: Readable.from([Buffer.from('{"a"'), Buffer.from(':1}')]),
      },
      'DELETE',
      { a: 1 },
    ],
    ['form', { headers: form, payload: '_method=PATCH&age=31' }, 'PATCH', { age: 31 }],
    ['form, field last', { headers: form, payload: 'age=31&_method=patch' }, 'PATCH', { age: 31 }],
    ['form, encoded name', { headers: form, payload: '%5Fmethod=PATCH&age=31' }, 'PATCH', { age: 31 }],
    ['form, DELETE alone', { headers: form, payload: '_method=DELETE' }, 'DELETE', null],
    ['form, PATCH alone', { headers: form, payload: '_method=PATCH' }, 'PATCH', {}],
    [
      'form, PUT',
      { headers: form, payload: '_method=PUT&a=1&a=2&b=%C3%A4' },
      'PUT',
      { a: ['1', '2'], b: 'ä' },
    ],
    [
      'form with a charset, in pieces, length unknown',
      {
        headers: {
          'content-type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8',
          'transfer-encoding': 'chunked',
        },
        payload: Readable.from([Buffer.from('_meth'), Buffer.from('od=PATCH&a'), Buffer.from('ge=31')]),
      },
      'PATCH',
      { age: 31 },
    ],
    [
      'both agree',
      { headers: { ...header('patch'), ...form }, payload: '_method=PATCH&age=31' },
      'PATCH',
      { age: 31 },
    ],
    [
      'header, and a form',
      { headers: { ...header('PATCH'), ...form }, payload: 'age=31' },
      'PATCH',
      { age: 31 },
    ],
    [
      'a form of many fields',
      {
        headers: form,
        payload: `_method=PUT&${Array.from({ length: 1500 }, (_, at) => `f${at}=1`).join('&')}`,
      },
      'PUT',
      Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`f${at}`, '1'])),
    ],
  ]
  for (const [about, options, route, body] of cases) {
    const response = await app.inject({ method: 'POST', url: '/v1/users/7', ...options })
    t.equal(response.statusCode, 200, about)
    const expected: Seen = { route, method: route, originalMethod: 'POST', params: { id: '7' }, body }
    t.strictSame(response.json(), expected, about)
  }
})

t.test('requests without an override, or with one in another place, do not change', async (t) => {
  const app = await usualApp()
  const cases: readonly (readonly [about: string, options: InjectOptions, route: string, body: unknown])[] = [
    ['a GET', { method: 'GET' }, 'GET', null],
    ['the header on a GET', { method: 'GET', headers: header('DELETE') }, 'GET', null],
    ['garbage on a GET', { method: 'GET', headers: header('TRACE') }, 'GET', null],
    ['the query of a GET', { method: 'GET', url: '/v1/users/7?_method=DELETE' }, 'GET', null],
    [
      'a form in a GET',
      { method: 'GET', headers: { ...form, ...header('DELETE') }, payload: '_method=DELETE' },
      'GET',
      null,
    ],
    ['the header on a PUT', { method: 'PUT', headers: header('DELETE'), payload: { a: 1 } }, 'PUT', { a: 1 }],
    ['a POST', { method: 'POST', payload: { a: 1 } }, 'POST', { a: 1 }],
    ['the query of a POST', { method: 'POST', url: '/v1/users/7?_method=DELETE' }, 'POST', null],
    ['JSON', { method: 'POST', payload: { _method: 'DELETE' } }, 'POST', { _method: 'DELETE' }],
    [
      'text',
      { method: 'POST', headers: { 'content-type': 'text/plain' }, payload: '_method=DELETE' },
      'POST',
      '_method=DELETE',
    ],
    ['another header', { method: 'POST', headers: { 'x-method-override': 'DELETE' } }, 'POST', null],
  ]
  for (const [about, options, route, body] of cases) {
    const response = await app.inject({ url: '/v1/users/7', ...options })
    t.equal(response.statusCode, 200, about)
    const expected: Seen = { route, method: route, originalMethod: route, params: { id: '7' }, body }
    t.strictSame(response.json(), expected, about)
  }
})

const invalid = { status: 400, code: 'method-override-invalid' }
const notFound = { status: 404, code: 'not-found' }

function isInvalid(header: unknown): boolean {
  return header !== undefined && header !== 'DELETE'
}

t.test('an invalid override is a 400, and no handler runs', async (t) => {
  const app = await usualApp()
  const ran: string[] = []
  app.addHook('preHandler', async (request) => {
    if (!request.is404) ran.push(request.method)
  })
  app.post('/v1/orders', () => ran.push('handler'))
  const cases: readonly InjectOptions[] = [
    ...['TRACE', 'CONNECT', 'GET', 'HEAD', 'OPTIONS', 'POST', 'x', '', 'DELETE, PUT', 'DELETE,DELETE'].map(
      (method) => ({ headers: header(method) }),
    ),
    { headers: { 'x-http-method-override': ['DELETE', 'DELETE'] as unknown as string } },
    { headers: form, payload: '_method=TRACE&age=31' },
    { headers: form, payload: '_method=' },
    { headers: form, payload: '_method=PUT&_method=PUT' },
    { headers: form, payload: '_method=PUT&_method=DELETE' },
    { headers: { ...form, ...header('DELETE') }, payload: '_method=PUT' },
    { headers: { ...form, ...header('TRACE') }, payload: '_method=PUT' },
  ]
  for (const options of cases) {
    for (const url of ['/v1/users/7', '/v1/orders', '/v1/nothing']) {
      const response = await app.inject({ method: 'POST', url, ...options })
      const about = `${url} ${JSON.stringify(options)}`
      // Where no route serves the path, no form is read: the header alone counts.
      const isRead = url !== '/v1/nothing' || isInvalid(options.headers?.['x-http-method-override'])
      isProblem(t, injected(response), isRead ? invalid : notFound, about)
    }
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
    id: { type: 'integer' },
  }
  const body = { type: 'object', properties, additionalProperties: false }
  const schemas = { users: body, teams: { content: { [form['content-type']]: { schema: body } } } }
  for (const [name, schema] of Object.entries(schemas)) {
    const handler = async ({ body }: { readonly body: unknown }) => ({ body })
    app.route({
      method: ['PATCH', 'PUT', 'POST'],
      url: `/v1/${name}/:id`,
      schema: { body: schema },
      handler,
    })
  }
  const answerTo = async (url: string, payload: string) => {
    const { statusCode, payload: text } = await app.inject({ method: 'POST', url, headers: form, payload })
    return [statusCode, JSON.parse(text).body ?? JSON.parse(text).errors]
  }
  for (const url of ['/v1/users/7', '/v1/teams/7']) {
    for (const method of ['PATCH', 'PUT']) {
      const about = `${method} ${url}`
      const valid = await answerTo(url, `_method=${method}&age=31&active=true&note=a&tags=x`)
      t.strictSame(valid, [200, { age: 31, active: true, note: 'a', tags: ['x'] }], about)
      const invalid = await answerTo(url, `_method=${method}&age=old`)
      t.match(invalid, [400, [{ in: 'body', pointer: '/age' }]], about)
      const large = await answerTo(url, `_method=${method}&id=9007199254740993`)
      t.match(large, [400, [{ pointer: '/id' }]], `${about}: never rounded`)
      const exact = await answerTo(url, `_method=${method}&id=9007199254740991`)
      t.strictSame(exact, [200, { id: Number.MAX_SAFE_INTEGER }], about)
    }
  }
  const json = await app.inject({ method: 'PATCH', url: '/v1/users/7', payload: { age: '31' } })
  t.equal(json.statusCode, 400, 'JSON is as it was')
})

t.test('a validator that returns the converted value, such as that of Joi, converts forms', async (t) => {
  const app = Fastify()
  app.setValidatorCompiler(() => (form: { readonly age: string }) => {
    const value = { age: Number(form.age) }
    return Number.isNaN(value.age) ? { error: new Error('age is not a number') } : { value }
  })
  await app.register(methodOverride)
  app.patch('/v1/users/:id', { schema: { body: {} }, attachValidation: true }, async ({ body }) => ({ body }))
  const answerTo = async (payload: string) =>
    (await app.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload })).json()
  t.strictSame(await answerTo('_method=PATCH&age=31'), { body: { age: 31 } })
  t.strictSame(await answerTo('_method=PATCH&age=old'), { body: { age: 'old' } })
})

t.test('a form from another origin is a 400 if the path has a route, and no handler runs', async (t) => {
  const app = await usualApp()
  const ran: string[] = []
  app.addHook('preHandler', async (request) => {
    if (!request.is404) ran.push(request.method)
  })
  const foreign: readonly Readonly<Record<string, string>>[] = [
    crossSite,
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://other.example' },
    { origin: 'null' },
  ]
  for (const headers of foreign) {
    for (const payload of ['_method=DELETE', '_method=patch&age=31', 'age=31&%5Fmethod=PUT']) {
      for (const url of ['/v1/users/7', '/v1/users', '/v1/nothing']) {
        const response = await app.inject({
          method: 'POST',
          url,
          headers: { ...form, ...headers },
          payload,
        })
        const about = `${url} ${payload} ${JSON.stringify(headers)}`
        isProblem(t, injected(response), url === '/v1/nothing' ? notFound : invalid, about)
      }
    }
  }
  t.strictSame(ran, [])
})

t.test(
  'a form of the same origin or without a browser, and the header from any origin, are performed',
  async (t) => {
    const app = await usualApp()
    const byForm = { headers: form, payload: '_method=DELETE' }
    const cases: readonly (readonly [about: string, options: InjectOptions])[] = [
      ['no browser', byForm],
      ['a page of this origin', { ...byForm, headers: { ...form, 'sec-fetch-site': 'same-origin' } }],
      ['the user', { ...byForm, headers: { ...form, 'sec-fetch-site': 'none' } }],
      ['over plain HTTP', { ...byForm, headers: { ...form, host: 'a:3000', origin: 'http://a:3000' } }],
      ['the header', { headers: { ...crossSite, ...header('DELETE') } }],
      ['the header, and the form', { ...byForm, headers: { ...form, ...crossSite, ...header('DELETE') } }],
    ]
    for (const [about, options] of cases) {
      const response = await app.inject({ method: 'POST', url: '/v1/users/7', ...options })
      t.match(response.json(), { route: 'DELETE', originalMethod: 'POST' }, about)
    }
  },
)

t.test('a form that names no method reaches the parser of the app', async (t) => {
  const app = await usualApp()
  const parser = { parseAs: 'string' } as const
  app.addContentTypeParser(form['content-type'], parser, (_request, body, done) => done(null, body))
  const chunked = { ...form, 'transfer-encoding': 'chunked' }
  const cases: readonly (readonly [about: string, options: InjectOptions, body: string])[] = [
    ['from another origin', { headers: { ...form, ...crossSite }, payload: 'age=31' }, 'age=31'],
    ['empty', { headers: { ...form, 'content-length': '0' } }, ''],
    ['empty, length unknown', { headers: chunked, payload: Readable.from([]) }, '&'],
  ]
  for (const [about, options, body] of cases) {
    const response = await app.inject({ method: 'POST', url: '/v1/users/7', ...options })
    t.match(response.json(), { route: 'POST', body }, about)
  }
})

t.test('a form from an origin in formOrigins is performed, and from no other', async (t) => {
  const app = Fastify()
  await app.register(methodOverride, { formOrigins: [crossSite.origin] })
  addRoutes(app)
  const send = async (origin: string) =>
    app.inject({
      method: 'POST',
      url: '/v1/users/7',
      headers: { ...form, ...crossSite, origin },
      payload: '_method=PATCH&age=31',
    })
  t.match((await send(crossSite.origin)).json(), { route: 'PATCH', body: { age: 31 } })
  t.equal((await send('http://other.example')).statusCode, 400)
  t.equal((await send('null')).statusCode, 400)
})

t.test('an override to a method without a route is a 405 with Allow', async (t) => {
  const app = await usualApp()
  for (const options of [
    { headers: header('DELETE') },
    { headers: { ...header('DELETE'), ...json } },
    { headers: form, payload: '_method=DELETE' },
    { headers: form, payload: '_method=PATCH&age=31' },
  ]) {
    const response = await app.inject({ method: 'POST', url: '/v1/users', ...options })
    isProblem(t, injected(response), { status: 405, code: 'method-not-allowed' })
    t.equal(response.headers.allow, 'GET, HEAD, OPTIONS, POST')
  }
  const unknown = await app.inject({ method: 'POST', url: '/v1/nothing', headers: header('DELETE') })
  isProblem(t, injected(unknown), { status: 404, code: 'not-found' })
  const options = await app.inject({ method: 'OPTIONS', url: '/v1/users' })
  t.equal(options.headers.allow, 'GET, HEAD, OPTIONS, POST')
})

t.test('each hook runs once, with the overriding method', async (t) => {
  const app = Fastify()
  const seen: string[] = []
  const note = (name: string) => async (request: { readonly method: string }) => {
    seen.push(`${name} ${request.method}`)
  }
  await app.register(methodOverride)
  for (const name of ['onRequest', 'preValidation', 'preHandler', 'onResponse'] as const) {
    app.addHook(name, note(name))
  }
  app.addHook('preParsing', async (request) => {
    seen.push(`preParsing ${request.method}`)
  })
  app.addHook('preSerialization', async (request) => {
    seen.push(`preSerialization ${request.method}`)
  })
  app.addHook('onSend', async (request) => {
    seen.push(`onSend ${request.method}`)
  })
  await app.register(
    async (child) => {
      child.addHook('onRequest', note('child'))
      addRoutes(child)
    },
    { prefix: '/api' },
  )
  for (const options of [
    { headers: header('PATCH'), payload: { age: 31 } },
    { headers: form, payload: '_method=PATCH&age=31' },
  ]) {
    seen.length = 0
    const response = await app.inject({ method: 'POST', url: '/api/v1/users/7', ...options })
    t.match(response.json(), { route: 'PATCH', body: { age: 31 } })
    const names = ['onRequest', 'child', 'preParsing', 'preValidation', 'preHandler', 'preSerialization']
    t.strictSame(
      seen,
      [...names, 'onSend', 'onResponse'].map((name) => `${name} PATCH`),
    )
  }
})

t.test('the log has one pair of lines per request, with both methods', async (t) => {
  const { logger, lines } = keepLogs('info')
  const app = Fastify({ logger })
  await app.register(methodOverride)
  addRoutes(app)
  app.addHook('preHandler', async (request) => request.log.info('in between'))
  await app.inject({ method: 'POST', url: '/v1/users/7', headers: header('DELETE') })
  t.match(lines, [
    { msg: 'incoming request', req: { method: 'DELETE' } },
    { msg: 'in between', originalMethod: 'POST' },
    { msg: 'request completed', originalMethod: 'POST', res: { statusCode: 200 } },
  ])
  t.equal(lines.length, 3)
  lines.length = 0
  await app.inject({ method: 'POST', url: '/v1/users/7' })
  t.equal(lines.length, 3)
  t.notOk(lines.some((line) => 'originalMethod' in line))
})

t.test('a form without an override is accepted only if the app accepts forms', async (t) => {
  const bare = await usualApp()
  const refused = await bare.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload: 'a=1' })
  isProblem(t, injected(refused), { status: 415, code: 'unsupported-media-type' })
  t.equal(refused.headers.accept, 'application/json', 'and Accept does not list it')

  const parsers = (app: FastifyInstance, type: string | RegExp) =>
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, { own: body }))
  for (const order of ['before', 'after', 'in a child'] as const) {
    for (const type of [form['content-type'], /^application\/.*form/, '*']) {
      const app = Fastify()
      if (order === 'before') parsers(app, type)
      await app.register(methodOverride)
      if (order === 'after') parsers(app, type)
      await app.register(async (child) => {
        if (order === 'in a child') parsers(child, type)
        child.post('/v1/users/:id', (request) => request.body)
        child.put('/v1/users/:id', (request) => request.body)
      })
      const post = await app.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload: 'a=1' })
      t.strictSame(post.json(), { own: 'a=1' }, `POST, parser for ${type} ${order}`)
      const payload = '_method=PUT&a=1'
      const put = await app.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload })
      t.strictSame(put.json(), { own: 'a=1' }, `PUT, parser for ${type} ${order}`)
    }
  }
})

t.test('a form over the limit is a 413, unless the route has a larger limit', async (t) => {
  const app = Fastify({ bodyLimit: 100 })
  await app.register(problems)
  await app.register(methodOverride)
  const take = (_request: unknown, body: string | Buffer, done: (error: null, body: unknown) => void) =>
    done(null, { length: body.length })
  app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, take)
  app.post('/v1/small', (request) => request.body)
  app.put('/v1/small', { bodyLimit: 50 }, (request) => request.body)
  app.post('/v1/large', { bodyLimit: 1000 }, (request) => request.body)
  app.get('/v1/hosts', { constraints: { host: 'a.example', version: '1.0.0' } }, () => ({}))
  const send = async (url: string, payload: string) =>
    app.inject({ method: 'POST', url, headers: form, payload })
  for (const payload of [`_method=PUT&a=${'x'.repeat(200)}`, `a=${'x'.repeat(200)}`]) {
    const response = await send('/v1/small', payload)
    isProblem(t, injected(response), { status: 413, code: 'content-too-large' })
    t.equal(response.headers.connection, 'close')
    t.equal((await send('/v1/nothing', payload)).statusCode, 404, 'not read')
    t.strictSame((await send('/v1/large', payload)).json(), { length: payload.length }, 'not searched')
  }
  t.strictSame((await send('/v1/small', `_method=PUT&a=${'x'.repeat(30)}`)).json(), { length: 32 })
  const response = await send('/v1/small', `_method=PUT&a=${'x'.repeat(60)}`)
  isProblem(t, injected(response), { status: 413, code: 'content-too-large' }, 'the limit of the PUT route')
  t.strictSame((await send('/v1/large', `a=${'x'.repeat(60)}`)).json(), { length: 62 })
})

t.test('a form with a content coding is not searched, and reaches only a parser of the app', async (t) => {
  for (const isParsed of [true, false]) {
    const app = Fastify()
    await app.register(methodOverride)
    if (isParsed) {
      app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, (_request, body, done) =>
        done(null, body),
      )
    }
    addRoutes(app)
    const coded = { ...form, 'content-encoding': 'x-rot13' }
    const request = { method: 'POST', url: '/v1/users/7', payload: '_method=DELETE' } as const
    for (const [headers, route] of [
      [coded, 'POST'],
      [{ ...coded, ...header('PUT') }, 'PUT'],
    ] as const) {
      const response = await app.inject({ ...request, headers })
      if (isParsed) t.match(response.json(), { route, body: '_method=DELETE' })
      else t.equal(response.statusCode, 415)
    }
  }
})

t.test('methods and form are options', async (t) => {
  const app = Fastify()
  await app.register(methodOverride, { methods: ['PUT'] })
  addRoutes(app)
  const send = async (options: InjectOptions) =>
    app.inject({ method: 'POST', url: '/v1/users/7', ...options })
  t.match((await send({ headers: header('put') })).json(), { route: 'PUT' })
  t.equal((await send({ headers: header('DELETE') })).statusCode, 400)
  t.equal((await send({ headers: form, payload: '_method=DELETE' })).statusCode, 400)

  const closed = Fastify()
  await closed.register(methodOverride, { form: false })
  addRoutes(closed)
  const byForm = await closed.inject({
    method: 'POST',
    url: '/v1/users/7',
    headers: form,
    payload: '_method=DELETE',
  })
  t.equal(byForm.statusCode, 415, 'a form is what it was without the plugin')
  const byHeader = await closed.inject({ method: 'POST', url: '/v1/users/7', headers: header('DELETE') })
  t.match(byHeader.json(), { route: 'DELETE' })
})

t.test('invalid options are refused at registration', async (t) => {
  const invalid = 'FST_CONV_OPTION_INVALID'
  const wrong: readonly (readonly [options: unknown, code: string, message: RegExp])[] = [
    [{ methods: 'PUT' }, invalid, /methodOverride\.methods.*an array.*'PUT'/],
    [{ methods: [] }, invalid, /methodOverride\.methods.*at least one/],
    [{ methods: ['put'] }, invalid, /methodOverride\.methods\[0\].*uppercase/],
    [{ methods: ['PUT', 'GET'] }, invalid, /methodOverride\.methods\[1\].*'GET'/],
    ...['TRACE', ['PUT'], 'xPUT', 'PUT!'].map(
      (method) => [{ methods: [method] }, invalid, /methodOverride\.methods\[0\]/] as const,
    ),
    [{ form: 'no' }, invalid, /methodOverride\.form/],
    [{ formOrigins: crossSite.origin }, invalid, /methodOverride\.formOrigins.*an array/],
    [{ formOrigins: [[crossSite.origin]] }, invalid, /methodOverride\.formOrigins\[0\]/],
    [{ formOrigins: ['null'] }, invalid, /methodOverride\.formOrigins\[0\].*'null'/],
    [{ formOrigins: [crossSite.origin, '*'] }, invalid, /methodOverride\.formOrigins\[1\].*'\*'/],
    [{ formOrigins: ['https://a.example/'] }, invalid, /methodOverride\.formOrigins\[0\].*without a path/],
    [{ mode: 'warn' }, invalid, /methodOverride\.mode/],
    [{ method: 'PUT' }, 'FST_CONV_OPTION_UNKNOWN', /methodOverride\.method.*methods/],
  ]
  for (const [options, code, message] of wrong) {
    const register = async () => Fastify().register(methodOverride, options as object)
    await t.rejects(register, { code, message }, JSON.stringify(options))
  }
  const app = Fastify()
  await app.register(methodOverride)
  await t.rejects(async () => app.register(methodOverride), { code: 'FST_CONV_ALREADY_REGISTERED' })
})

t.test('report changes nothing, and counts overrides and refusals; off does not count', async (t) => {
  const cases: readonly InjectOptions[] = [
    { headers: header('DELETE') },
    { headers: { ...header('DELETE'), ...json } },
    { headers: header('TRACE') },
    { headers: form, payload: '_method=DELETE' },
    { headers: form, payload: '_method=TRACE&a=1' },
    { headers: { ...form, ...crossSite }, payload: '_method=PUT&a=1' },
    { headers: { ...form, ...crossSite }, payload: 'a=1' },
    { headers: form, payload: `a=${'x'.repeat(2000)}` },
    { headers: form, payload: 'a=1' },
  ]
  const answersOf = async (mode: 'report' | 'off' | null, formsAreTaken: boolean) => {
    const app = Fastify({ bodyLimit: 1000 })
    if (mode !== null) await app.register(methodOverride, { mode })
    if (formsAreTaken) {
      app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, (_request, body, done) =>
        done(null, body),
      )
    }
    app.post('/v1/users/:id', (request) => [request.method, request.body ?? null])
    app.delete('/v1/users/:id', () => 'deleted')
    const answers: unknown[] = []
    for (const options of cases) {
      const { headers, statusCode, payload } = await app.inject({
        method: 'POST',
        url: '/v1/users/7',
        ...options,
      })
      answers.push([statusCode, { ...headers, date: '' }, payload])
    }
    return { answers, app }
  }
  for (const formsAreTaken of [true, false]) {
    const bare = await answersOf(null, formsAreTaken)
    t.strictSame((await answersOf('off', formsAreTaken)).answers, bare.answers)
    const { answers, app } = await answersOf('report', formsAreTaken)
    t.strictSame(answers, bare.answers)
    t.match(app.conventions.report().observations, [
      {
        plugin: 'methodOverride',
        rule: 'performed',
        route: '/v1/users/:id',
        count: 3,
        example: 'POST as DELETE',
      },
      ...(formsAreTaken
        ? [{ rule: 'refused', effect: 'refused', status: 400, count: 3, example: /TRACE/ }]
        : [
            { rule: 'refused', effect: 'refused', status: 400, count: 1, example: /TRACE/ },
            { rule: 'refused', effect: 'changed', count: 2, example: /TRACE.*: 415 anyway/ },
          ]),
    ])
  }
})

t.test(
  'in an encapsulated context, the plugin serves the paths below the prefix of that context',
  async (t) => {
    const app = Fastify()
    await app.register(problems)
    app.post('/v1/users/:id', () => ({ route: 'POST' }))
    app.delete('/v1/users/:id', () => ({ route: 'DELETE' }))
    // Above a context.
    app.post('/legacy', () => ({ route: 'POST' }))
    // Its prefix begins with that of a context, and is not below it.
    app.post('/older/users', () => ({ route: 'POST' }))
    app.delete('/older/users', () => ({ route: 'DELETE' }))
    for (const prefix of ['/old', '/legacy/:tenant', '/old/strict']) {
      await app.register(
        async (child) => {
          await child.register(methodOverride, prefix === '/old/strict' ? { methods: ['PUT'] } : {})
          addRoutes(child)
        },
        { prefix },
      )
    }
    const send = async (url: string, options: InjectOptions) =>
      app.inject({ method: 'POST', url, ...options })
    t.match((await send('/v1/users/7', { headers: header('DELETE') })).json(), { route: 'POST' })
    t.match((await send('/v1/users/7', { headers: header('TRACE') })).json(), { route: 'POST' })
    for (const url of ['/older/users', '/legacy']) {
      t.match((await send(url, { headers: header('DELETE') })).json(), { route: 'POST' }, url)
    }
    for (const url of ['/old/v1/users/7', '/legacy/acme/v1/users/7']) {
      t.match((await send(url, { headers: header('DELETE') })).json(), { route: 'DELETE' })
      t.match((await send(url, { headers: form, payload: '_method=PATCH&age=31' })).json(), {
        route: 'PATCH',
        originalMethod: 'POST',
        body: { age: 31 },
      })
      t.equal((await send(url, { headers: header('TRACE') })).statusCode, 400)
    }
    t.equal((await send('/old/strict/v1/users/7', { headers: header('DELETE') })).statusCode, 400)
    t.match((await send('/old/strict/v1/users/7', { headers: header('PUT') })).json(), { route: 'PUT' })
    isProblem(t, injected(await send('/old/v1/users', { headers: header('DELETE') })), {
      status: 405,
      code: 'method-not-allowed',
    })
  },
)

t.test('constraints and routes of the app work as before', async (t) => {
  const app = await usualApp()
  app.get('/v1/things', { constraints: { version: '2.0.0' } }, () => ({ version: 2 }))
  app.get('/v1/hosts', { constraints: { host: 'a.example' } }, () => ({ host: 'a' }))
  app.delete('/v1/hosts', { constraints: { host: 'a.example' } }, () => ({ host: 'deleted' }))
  await app.ready()
  const thing = await app.inject({ url: '/v1/things', headers: { 'accept-version': '2.x' } })
  t.strictSame(thing.json(), { version: 2 })
  t.equal((await app.inject({ url: '/v1/things' })).statusCode, 404)
  const host = { host: 'a.example' }
  t.strictSame((await app.inject({ url: '/v1/hosts', headers: host })).json(), { host: 'a' })
  for (const options of [
    { headers: { ...host, ...header('DELETE') } },
    { headers: { ...host, ...form }, payload: '_method=DELETE' },
  ]) {
    const deleted = await app.inject({ method: 'POST', url: '/v1/hosts', ...options })
    t.strictSame(deleted.json(), { host: 'deleted' })
  }
  const absent = await app.inject({
    method: 'POST',
    url: '/v1/hosts',
    headers: { ...host, ...header('PUT') },
  })
  t.equal(absent.headers.allow, 'DELETE, GET, HEAD, OPTIONS')
  t.ok(app.hasRoute({ method: 'GET', url: '/v1/users' }))
  t.ok(app.findRoute({ method: 'DELETE', url: '/v1/users/:id' }))
  t.notMatch(app.printRoutes(), /methodOverride/)
})

t.test('a form for a route with a custom constraint is performed', async (t) => {
  const routes = new Map<string, unknown>()
  const tenant = {
    name: 'tenant',
    validate: () => {},
    storage: () => ({
      get: (name: string) => (routes.get(name) as never) ?? null,
      set: (name: string, route: unknown) => void routes.set(name, route),
    }),
    deriveConstraint: ({ headers }: { readonly headers: object }) => Reflect.get(headers, 'x-tenant'),
  }
  const app = Fastify({ constraints: { tenant } })
  await app.register(methodOverride)
  app.delete('/v1/users/:id', { constraints: { tenant: 'a' } }, () => ({ route: 'DELETE' }))
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users/7',
    headers: { ...form, 'x-tenant': 'a' },
    payload: '_method=DELETE',
  })
  t.same(response.json(), { route: 'DELETE' })
})

t.test(
  'what only a proxy serves is passed on: the form keeps the field, and the header is not followed',
  async (t) => {
    const app = Fastify()
    await app.register(methodOverride)
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
    const passOn = (request: FastifyRequest) => ({ method: request.method, body: request.body })
    app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    )
    app.route({ method: [...methods], url: '/old', handler: passOn })
    app.route({ method: [...methods], url: '/old/*', handler: passOn })
    app.route({ method: [...methods], url: '/*', handler: passOn })
    app.delete('/v1/users/:id', () => ({ route: 'DELETE' }))
    const payload = '_method=DELETE&name=Ada'
    for (const url of ['/old', '/old/users/7', '/elsewhere']) {
      const passedOn = { method: 'POST', body: payload }
      const byForm = await app.inject({ method: 'POST', url, headers: form, payload })
      t.strictSame(byForm.json(), passedOn, url)
      const both = { ...form, ...header('DELETE') }
      t.strictSame((await app.inject({ method: 'POST', url, headers: both, payload })).json(), passedOn, url)
    }
    const byHeader = await app.inject({ method: 'POST', url: '/v1/users/7', headers: header('DELETE') })
    t.strictSame(byHeader.json(), { route: 'DELETE' }, 'a route of the service beside the proxy')
    const performed = await app.inject({ method: 'POST', url: '/v1/users/7', headers: form, payload })
    t.strictSame(performed.json(), { route: 'DELETE' })
  },
)
