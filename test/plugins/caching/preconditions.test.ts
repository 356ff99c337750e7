/** RFC 9110 §13 on what is read: after the handler, before it where the route has validators, and over sockets. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { type CachingRouteOptions, caching, problems, type RouteValidators } from '../../../src/index.js'
import { appOf } from '../../support/app.js'
import { injected, isProblem } from '../../support/problem.js'
import { ask, openConnection, parseAnswers, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const now = Date.UTC(2026, 10, 20, 12)
const modified = Date.UTC(2026, 10, 19, 8, 0, 0, 900)
const modifiedText = 'Thu, 19 Nov 2026 08:00:00 GMT'
const before = 'Thu, 19 Nov 2026 07:59:59 GMT'
const user = { id: 1, updated_at: new Date(modified) }

/** An app with one route, `/v1/users/:id`, and how often its handler ran. */
async function appWith(own: CachingRouteOptions, handler: (reply: FastifyReply) => unknown = () => user) {
  const app = await plainApp()
  let handled = 0
  app.get('/v1/users/:id', { config: { caching: own } }, async (_, reply) => {
    handled++
    return handler(reply)
  })
  return { app, handled: () => handled }
}

async function plainApp() {
  const app = await appOf(problems, [caching, { now: () => now }])
  return app
}

/** A request with its headers, and what it comes to, where the answer has the tag "v7" and the date {@link modified}. */
const cases: readonly (readonly [headers: Readonly<Record<string, string>>, status: 200 | 304 | 412])[] = [
  [{}, 200],
  [{ 'if-none-match': `${'"x", '.repeat(900)}"v7"` }, 304],
  [{ 'if-none-match': '*' }, 304],
  [{ 'if-none-match': '"v6"', 'if-modified-since': modifiedText }, 200],
  [{ 'if-modified-since': modifiedText }, 304],
  [{ 'if-modified-since': before }, 200],
  [{ 'if-match': '"v7"', 'if-unmodified-since': before }, 200],
  [{ 'if-match': '"v6"' }, 412],
  [{ 'if-unmodified-since': modifiedText }, 200],
  [{ 'if-unmodified-since': before }, 412],
]

const validators: Readonly<Record<string, CachingRouteOptions['validators']>> = {
  none: undefined,
  sync: () => ({ etag: '"v7"', lastModified: modified }),
  async: async () => ({ version: 'v7', lastModified: new Date(modified) }),
  // As the query builders of some libraries: no promise, but awaited as one.
  thenable: () => Object.fromEntries([['then', answerThen]]) as never,
}

const answerThen = (resolve: (found: RouteValidators) => void) =>
  resolve({ etag: 'v7', lastModified: modified })

for (const [kind, find] of Object.entries(validators)) {
  for (const method of ['GET', 'HEAD'] as const) {
    t.test(`§13.2.2, ${method}, validators: ${kind}`, async (t) => {
      const own = find === undefined ? {} : { validators: find }
      const { app, handled } = await appWith(own, (reply) => reply.caching({ etag: '"v7"' }).send(user))
      for (const [headers, status] of cases) {
        const ran = handled()
        const answer = await app.inject({ method, url: '/v1/users/1', headers })
        const about = JSON.stringify(headers).slice(0, 100)
        t.equal(answer.statusCode, status, about)
        t.equal(handled() - ran, find === undefined || status === 200 ? 1 : 0, `${about}: the handler`)
        if (status === 412) {
          t.match(answer.headers, { 'cache-control': 'no-store', 'content-type': 'application/problem+json' })
          t.notOk('etag' in answer.headers, about)
        } else t.equal(answer.headers.etag, '"v7"', about)
        if (status === 304) {
          t.equal(answer.payload, '', about)
          for (const name of ['content-type', 'content-length', 'last-modified', 'transfer-encoding'])
            t.notOk(name in answer.headers, `${about}: ${name}`)
          t.equal(answer.headers['cache-control'], 'no-cache', about)
        }
      }
    })
  }
}

t.test('RFC 9110 §15.4.5: a 304 keeps what the 200 has beside its content', async (t) => {
  const app = await plainApp()
  const kept = { 'content-location': '/v1/users', link: '</v1>; rel="up"', age: '1', 'set-cookie': 'a=1' }
  const ofContent = ['language', 'disposition', 'range', 'digest', 'md5'].map((name) => `content-${name}`)
  const removed = [...ofContent, 'repr-digest', 'digest']
  app.addHook('onRequest', async (_, reply) => void reply.header('access-control-allow-origin', '*'))
  const caches = { expires: now + 60_000, vary: ['Accept-Language'], cacheControl: { maxAge: 60 } }
  app.get('/v1/users', { config: { caching: caches } }, (_, reply) =>
    reply.headers({ ...kept, ...Object.fromEntries(removed.map((name) => [name, 'a'])) }).send({}),
  )
  const { headers } = await app.inject('/v1/users')
  const again = await app.inject({ url: '/v1/users', headers: { 'if-none-match': String(headers.etag) } })
  t.equal(again.statusCode, 304)
  const names = ['access-control-allow-origin', 'cache-control', 'etag', 'expires', 'vary']
  const { date: _, connection: __, ...received } = again.headers
  t.strictSame(received, { ...kept, ...Object.fromEntries(names.map((name) => [name, headers[name]])) })
})

t.test('a 400 of validation and a 401 of a hook are sent before validators run', async (t) => {
  const config = { caching: { validators: () => t.fail('validators run') as never } }
  const headers = { 'if-none-match': '"7"', 'if-match': '"6"' }
  const refuse = async () => Promise.reject(Object.assign(new Error('who are you?'), { statusCode: 401 }))
  const schema = { querystring: { type: 'object', required: ['page'] } }
  const route = { method: ['GET', 'PUT'], config, handler: () => ({}) }
  const app = await plainApp()
  const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler']
  for (const hook of hooks) {
    app.register(async (child) => {
      child.addHook(hook as 'onRequest', refuse)
      child.route({ ...route, url: `/${hook}-of-app` })
    })
    app.route({ ...route, url: `/${hook}-of-route`, [hook]: refuse })
  }
  app.route({ ...route, url: '/invalid', schema })
  for (const url of ['/invalid', ...hooks.flatMap((hook) => [`/${hook}-of-app`, `/${hook}-of-route`])]) {
    for (const method of ['GET', 'PUT'] as const) {
      const answer = await app.inject({ method, url, headers })
      const statusCode = url === '/invalid' ? 400 : 401
      t.match(answer, { statusCode, headers: { 'cache-control': 'no-store' } }, `${method} ${url}`)
    }
  }
})

t.test('validators that throw are an error, and the precondition does not pass', async (t) => {
  const failing = (error: unknown) => () => {
    throw error
  }
  for (const [validators, statusCode] of [
    [failing(new Error('no database')), 500],
    [failing(undefined), 500],
    [() => Promise.reject(undefined), 500],
    [() => ({ etag: 'a b' }), 500],
    [async () => ({ etag: 'a b' }), 500],
    [failing(Object.assign(new Error('not yours'), { statusCode: 403 })), 403],
  ] as const) {
    for (const withProblems of [true, false]) {
      const app = Fastify()
      if (withProblems) await app.register(problems)
      await app.register(caching)
      const handler = () => t.fail('the handler runs')
      app.route({ method: ['GET', 'PUT'], url: '/v1/users', config: { caching: { validators } }, handler })
      for (const method of ['GET', 'PUT'] as const) {
        const answer = await app.inject({ method, url: '/v1/users', headers: { 'if-match': '"7"' } })
        t.match(answer, { statusCode, headers: { 'cache-control': 'no-store' } }, `${method} ${validators}`)
      }
    }
  }
})

t.test('the tag, version and date of validators are sent', async (t) => {
  const rows: readonly (readonly [RouteValidators, etag: string | undefined, date?: string])[] = [
    [{ etag: 'W/"a"' }, 'W/"a"'],
    [{ version: 0 }, '"0"'],
    [{ version: 'é 😀"%20' }, '"%C3%A9%20%F0%9F%98%80%22%2520"'],
    [{ version: 2n ** 60n }, '"1152921504606846976"'],
    [{ etag: '"a"', version: 7 }, '"a"'],
    [{ lastModified: new Date(modified) }, undefined, modifiedText],
    [{ lastModified: new Date(Number.NaN), version: 1 }, '"1"'],
    [{ lastModified: now + 5000 }, undefined, 'Fri, 20 Nov 2026 12:00:00 GMT'],
  ]
  for (const [found, etag, date] of rows) {
    const { app } = await appWith({ validators: () => found, etag: false, lastModified: false })
    const { headers } = await app.inject('/v1/users/1')
    t.strictSame([headers.etag, headers['last-modified']], [etag, date])
    const condition = etag === undefined ? { 'if-modified-since': date } : { 'if-none-match': etag }
    const again = await app.inject({ url: '/v1/users/1', headers: condition })
    // A date guides the cache where there is no tag.
    t.strictSame([again.statusCode, again.headers.etag, again.headers['last-modified']], [304, etag, date])
  }
})

t.test('if validators return no tag, the tag of the bytes is compared after the handler', async (t) => {
  const { app, handled } = await appWith({ validators: () => ({ lastModified: modified }) })
  const etag = String((await app.inject('/v1/users/1')).headers.etag)
  t.match(etag, /^"[0-9a-z]{1,13}"$/)
  for (const [headers, status, runs] of [
    [{ 'if-none-match': etag }, 304, 1],
    [{ 'if-match': etag }, 200, 1],
    [{ 'if-match': '"other"' }, 412, 1],
    [{ 'if-modified-since': modifiedText }, 304, 0],
  ] as const) {
    const ran = handled()
    t.equal((await app.inject({ url: '/v1/users/1', headers })).statusCode, status)
    t.equal(handled() - ran, runs, `${JSON.stringify(headers)}: a date alone is compared before`)
  }
})

t.test('a newer tag of the handler takes precedence over that of validators', async (t) => {
  const validators = () => ({ version: 1 })
  const { app } = await appWith({ validators }, (reply) => reply.caching({ etag: '2' }).send({}))
  for (const [headers, status, etag] of [
    [{}, 200, '"2"'],
    [{ 'if-match': '"1"' }, 412, undefined],
    [{ 'if-none-match': '"2"' }, 304, '"2"'],
  ] as const) {
    const answer = await app.inject({ url: '/v1/users/1', headers })
    t.strictSame([answer.statusCode, answer.headers.etag], [status, etag])
  }
})

t.test('a stream that is not sent is destroyed, of each kind', async (t) => {
  const app = await plainApp()
  const node = new Readable({ read() {} })
  let cancelled = 0
  const cancel = () => {
    cancelled++
    throw new Error('cannot be cancelled')
  }
  app.get('/v1/node', (_, reply) => reply.caching({ etag: 'a' }).send(node))
  app.get('/v1/web', (_, reply) => reply.caching({ etag: 'a' }).send(new ReadableStream({ cancel })))
  const headers = { 'if-none-match': '"a"' }
  t.equal((await app.inject({ url: '/v1/node', headers })).statusCode, 304)
  t.ok(node.destroyed)
  t.equal((await app.inject({ url: '/v1/web', headers })).statusCode, 304)
  t.equal((await app.inject({ url: '/v1/web', headers: { 'if-match': '"b"' } })).statusCode, 412)
  t.equal(cancelled, 2)
})

t.test('RFC 9110 §13.2.1: preconditions apply to 200, 203 and 206, and to no other status', async (t) => {
  const app = await plainApp()
  const representations = [200, 203, 206]
  const others = [201, 202, 204, 207, 300, 303, 308, 400, 404, 412, 500]
  const sent = { etag: '"v7"', 'last-modified': modifiedText, 'content-range': 'bytes 0-1/2' }
  const route = ({ url }: FastifyRequest, reply: FastifyReply) =>
    reply
      .code(Number(url.slice(-3)))
      .headers(sent)
      .send({})
  app.get('/v1/plain/:status', route)
  app.get('/v1/missing/:status', { config: { caching: { validators: () => null } } }, route)
  for (const [name, value, outcome] of [
    ['if-none-match', '"v7"', 304],
    ['if-modified-since', modifiedText, 304],
    ['if-match', '"other"', 412],
    ['if-unmodified-since', before, 412],
  ] as const) {
    for (const status of [...representations, ...others]) {
      for (const path of [`plain/${status}`, `missing/${status}`]) {
        for (const method of ['GET', 'HEAD'] as const) {
          const answer = await app.inject({ method, url: `/v1/${path}`, headers: { [name]: value } })
          const expected = representations.includes(status) ? outcome : status
          t.equal(answer.statusCode, expected, `${method} ${path} ${name}`)
          if (expected === 304) t.notOk('content-range' in answer.headers)
        }
      }
    }
  }
})

t.test('a date of the items of a list is sent, and is not used for preconditions', async (t) => {
  const app = await plainApp()
  const older = { id: 1, updated_at: '2026-11-18T08:00:00Z' }
  let users = [{ id: 2, updated_at: '2026-11-19T08:00:00Z' }, older]
  app.get('/v1/users', () => ({ users }))
  app.get('/v1/array', () => users)
  app.get('/v1/own', () => ({ updated_at: new Date(modified), users }))
  app.get('/v1/handler', (_, reply) => reply.caching({ lastModified: new Date(modified) }).send({ users }))
  const config = { caching: { validators: () => ({ lastModified: modified }) } }
  app.get('/v1/validators', { config }, () => ({ users }))
  const since = { 'if-modified-since': modifiedText }
  const etags = new Set<unknown>()
  for (const isRowGone of [false, true]) {
    if (isRowGone) users = users.slice(0, 1)
    for (const method of ['GET', 'HEAD'] as const) {
      for (const url of ['/v1/users', '/v1/array']) {
        for (const headers of [since, { 'if-unmodified-since': before }]) {
          const answer = await app.inject({ method, url, headers })
          t.match(answer, { statusCode: 200, headers: { 'last-modified': modifiedText } }, `${method} ${url}`)
          etags.add(answer.headers.etag)
        }
      }
      for (const url of ['/v1/own', '/v1/handler', '/v1/validators'])
        t.equal((await app.inject({ method, url, headers: since })).statusCode, 304, `${method} ${url}`)
    }
  }
  t.equal(etags.size, 4, 'the tag changes with a row, the latest date does not')
  users = []
  const { statusCode, headers } = await app.inject({ url: '/v1/users', headers: since })
  t.strictSame([statusCode, headers['last-modified']], [200, undefined], 'an empty list has no date')
})

t.test('a 412 is a problem, whose detail says what failed, and what to send', async (t) => {
  const app = await plainApp()
  const config = { caching: { validators: () => ({ version: 2, lastModified: modified }) } }
  app.route({ method: ['GET', 'PUT'], url: '/v1/users/:id', config, handler: () => ({}) })
  for (const [methods, field, value, detail] of [
    [['GET', 'PUT'], 'if-match', '"1"', /^If-Match .*read it again.* with its quotes/],
    [['GET', 'PUT'], 'if-unmodified-since', before, /^It was modified since/],
    [['PUT'], 'if-none-match', '"2"', /^If-None-Match names what exists already/],
  ] as const) {
    for (const method of methods) {
      const answer = await app.inject({ method, url: '/v1/users/1', headers: { [field]: value } })
      const expected = { status: 412, code: 'precondition-failed', detail }
      isProblem(t, injected(answer), expected, `${method} ${field}`)
    }
  }
})

/** Its validators are known before the handler, or after it. */
async function servedApp() {
  const app = await plainApp()
  const config = { caching: { validators: () => ({ version: 7, lastModified: modified }) } }
  app.route({ method: ['GET', 'PUT'], url: '/v1/before', config, handler: () => ({ id: 1 }) })
  app.get('/v1/after', (_, reply) =>
    reply.caching({ etag: '7', lastModified: new Date(modified) }).send({ id: 1 }),
  )
  return app
}

t.test('repeated lines: lists are joined, and repeated dates are ignored', async (t) => {
  const { port } = await serve(t, await servedApp())
  const cases: readonly (readonly [lines: readonly string[], get: number, put: number])[] = [
    [['If-None-Match: "6"', 'If-None-Match: "7"'], 304, 412],
    [['If-None-Match: *', 'If-None-Match: *'], 200, 412],
    [['If-Match: "6"', 'If-Match: "7"'], 200, 200],
    [[`If-Modified-Since: ${modifiedText}`, `If-Modified-Since: ${modifiedText}`], 200, 200],
    [[`If-Unmodified-Since: ${before}`, `If-Unmodified-Since: ${before}`], 200, 200],
    [['If-None-Match:  \t"7"\t '], 304, 412],
  ]
  for (const [lines, get, put] of cases) {
    for (const [target, status] of Object.entries({
      'GET /v1/before': get,
      'GET /v1/after': get,
      'PUT /v1/before': put,
    })) {
      const section = [`${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines].join('\r\n')
      const { status: received } = await ask(port, `${section}\r\n\r\n`)
      t.equal(received, status, `${target} ${lines.join(' | ')}`)
    }
  }
})

t.test('HEAD has the header fields of GET, and no body (RFC 9110 §9.3.2)', async (t) => {
  const { port } = await serve(t, await servedApp())
  const answerTo = async (method: string, url: string) => {
    const { headers, body } = await ask(port, requestBytes(method, url))
    const { date, ...fields } = headers
    return { fields, body }
  }
  for (const url of ['/v1/before', '/v1/after']) {
    const get = await answerTo('GET', url)
    t.strictSame(await answerTo('HEAD', url), { ...get, body: '' }, url)
    t.equal(get.fields['content-length'], String(get.body.length))
  }
})

t.test('a 304 ends with its header section, and the connection stays open', async (t) => {
  const { port } = await serve(t, await servedApp())
  const names = ['cache-control', 'connection', 'date', 'etag', 'keep-alive']
  for (const url of ['/v1/before', '/v1/after']) {
    for (const method of ['GET', 'HEAD']) {
      const connection = await openConnection(port)
      const request = requestBytes(method, url, { 'if-none-match': '"7"', connection: 'keep-alive' })
      connection.send(`${request}${request}${requestBytes('GET', url)}`)
      const answers = parseAnswers(await connection.ended())
      const received = answers.map(({ status, body }) => [status, body].join(' '))
      t.strictSame(received, ['304 ', '304 ', '200 {"id":1}'], `${method} ${url}`)
      for (const answer of answers.slice(0, 2))
        t.strictSame(Object.keys(answer.headers).sort(), names, `${method} ${url}: its headers`)
    }
  }
})
