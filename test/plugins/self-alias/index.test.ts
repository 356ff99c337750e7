/** The self alias: RFC 9110 §8.7. */
import swagger from '@fastify/swagger'
import fc from 'fast-check'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t from 'tap'
import { caching, fields, integerTwins, pathGuard, problems } from '../../../src/index.js'
import { ownTarget, withCaller, withoutCaller } from '../../../src/plugins/self-alias/alias.js'
import { type SelfAliasOptions, selfAlias } from '../../../src/plugins/self-alias/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs } from '../../support/logs.js'
import { documentOf } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'
import { forAll } from '../../support/property.js'
import { rethrowUnwrapped } from '../../support/report-table.js'

const ids: Readonly<Record<string, bigint>> = { ada: 9007199254740993n, eve: 7n }
const identify = ({ headers }: FastifyRequest) => ids[headers.authorization ?? ''] ?? null
const ada = { authorization: 'ada' }
const eve = { authorization: 'eve' }

const wide = { type: 'integer', format: 'int64' }
const params = { type: 'object', properties: { id: wide } }
const user = { type: 'object', properties: { id: wide, name: { type: 'string' } } }

/** An app with the neighbours of the preset, in its order. */
async function presetWith(
  add: (app: FastifyInstance) => void,
  options: SelfAliasOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  await app.register(pathGuard)
  await app.register(selfAlias, { identify, collections: ['users'], ...options })
  await app.register(fields)
  await app.register(integerTwins)
  await app.register(caching)
  add(app)
  return app
}

function addUsers(app: FastifyInstance, seen: unknown[] = []): void {
  const schema = { params, response: { 200: user } }
  const handler = async (request: FastifyRequest) => {
    const { id } = request.params as { id: unknown }
    seen.push([request.method, id, request.body ?? null])
    return { id, name: 'Ada' }
  }
  app.route({ method: ['GET', 'PUT', 'PATCH'], url: '/v1/users/:id', schema, handler })
  app.post('/v1/users/:id/follow', { schema: { params } }, handler)
  app.put('/v1/users/:id/settings', { schema: { params } }, handler)
  app.get('/v1/users/:id/friends/:friend_id', { schema: { params } }, handler)
  app.post('/v1/users', async (_request, reply) => reply.code(201).send({ id: 1 }))
  app.post('/v1/orders', async (_request, reply) => reply.code(201).send({}))
}

t.test('me and self are the record of the caller, with the exact id and Content-Location', async (t) => {
  const app = await presetWith(addUsers)
  for (const alias of ['me', 'self']) {
    const answer = await app.inject({ url: `/v1/users/${alias}`, headers: ada })
    t.equal(answer.body, '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada"}')
    t.match(answer.headers, {
      'content-location': '/v1/users/9007199254740993',
      'cache-control': /^no-cache, private$/,
      vary: 'authorization, cookie',
    })
  }
  const below = await app.inject({ url: '/v1/users/me/friends/me', headers: eve })
  t.equal(below.headers['content-location'], '/v1/users/7/friends/me')
  const selected = await app.inject({ url: '/v1/users/me?fields=name', headers: eve })
  const location = selected.headers['content-location']
  t.strictSame([selected.body, location], ['{"name":"Ada"}', '/v1/users/7?fields=name'])
})

t.test('an unknown caller gets a 401 with a challenge, and no handler runs', async (t) => {
  const seen: unknown[] = []
  const app = await presetWith((app) => addUsers(app, seen))
  for (const [method, url] of [
    ['GET', '/v1/users/me'],
    ['PUT', '/v1/users/me'],
    ['POST', '/v1/users/self/follow'],
  ] as const) {
    const answer = await app.inject({ method, url, ...(method === 'PUT' ? { payload: 'not json' } : {}) })
    const detail = /is the record of the caller/
    isProblem(t, injected(answer), { status: 401, code: 'unauthorized', title: 'Unauthorized', detail })
    t.equal(answer.headers['www-authenticate'], 'Bearer')
    t.notOk('content-location' in answer.headers)
  }
  t.strictSame(seen, [])
  t.equal((await app.inject('/v1/users/7')).statusCode, 200, 'an id needs no caller')
})

t.test('an error of identify is a 500, or the thrown ProblemError, and no handler runs', async (t) => {
  const seen: unknown[] = []
  const statusOf = async (identify: () => unknown) => {
    const app = await presetWith((app) => addUsers(app, seen), { identify: identify as typeof unknown })
    return (await app.inject('/v1/users/me')).statusCode
  }
  const unknown = async (): Promise<null | undefined> => undefined
  t.equal(await statusOf(unknown), 401)
  for (const found of [{}, '', 1.5, '\ud800']) t.equal(await statusOf(async () => found), 500, String(found))
  for (const [error, status] of [
    [null, 500],
    [Object.assign(new Error('expired'), { statusCode: 403 }), 403],
  ] as const) {
    const thrower = () => {
      throw error
    }
    t.equal(await statusOf(thrower), status, `thrown ${error}`)
    t.equal(await statusOf(() => Promise.reject(error)), status, `rejected ${error}`)
  }
  t.strictSame(seen, [])
})

t.test('shared caches cannot store a response under an alias', async (t) => {
  const app = await presetWith((app) => {
    const config = { caching: { cacheControl: { public: true, maxAge: 60, sMaxAge: 600 } } }
    app.get('/v1/users/:id', { config }, async () => ({ id: 1 }))
    const ofPage = { 'cache-control': 'public, max-age=5', vary: 'accept-language' }
    app.get('/v1/users/:id/page', async (_request, reply) => reply.headers(ofPage).send('x'))
    const secret = { 'cache-control': 'no-store' }
    app.get('/v1/users/:id/secret', async (_request, reply) => reply.headers(secret).send({}))
    app.get('/v1/users/:id/hooked', {
      onSend: async (_request, reply) => void reply.header('cache-control', 'public, immutable'),
      handler: async () => ({}),
    })
    app.get('/v1/users/:id/none', async (_request, reply) => reply.code(404).send({}))
  })
  const of = async (path: string) => (await app.inject({ url: `/v1/users/${path}`, headers: eve })).headers
  t.equal((await of('7'))['cache-control'], 'public, max-age=60, s-maxage=600', 'under its id it may')
  t.equal((await of('me'))['cache-control'], 'max-age=60, private')
  t.match(await of('me/page'), {
    'cache-control': 'max-age=5, private',
    vary: 'accept-language, authorization, cookie',
    'content-location': '/v1/users/7/page',
  })
  t.equal((await of('me/hooked'))['cache-control'], 'immutable, private')
  t.equal((await of('me/secret'))['cache-control'], 'no-store')
  const bare = await presetWith(addUsers, { vary: [] })
  t.notOk('vary' in (await bare.inject({ url: '/v1/users/me', headers: eve })).headers)
  const none = await of('me/none')
  t.equal(none['cache-control'], 'no-store')
  t.notOk('content-location' in none, 'an error is not found elsewhere')
})

t.test('RFC 9110 §8.7: Content-Location only where the response is the record', async (t) => {
  const app = await presetWith((app) => {
    app.route({
      method: ['GET', 'PUT', 'PATCH', 'POST', 'DELETE'],
      url: '/v1/users/:id',
      config: { pathGuard: false, caching: false },
      handler: (request, reply) => {
        const { status, body, location, web } = request.query as Record<string, string>
        const headers = { etag: '"v7"', vary: 'accept', 'cache-control': 's-maxage=5' }
        if (web !== undefined) return new Response(body || null, { status: Number(status), headers })
        if (location !== undefined) reply.header('content-location', location)
        const code = Number(status) as 200
        return reply.code(code).type('text/plain').send(body)
      },
    })
  })
  const ofRecord = ['GET 200 x', 'GET 304', 'HEAD 200', 'PUT 201 x', 'PATCH 200 x']
  const others = ['GET 300 x', 'HEAD 204', 'PUT 200', 'PUT 202 x', 'POST 200 x', 'DELETE 200 x']
  for (const row of [...ofRecord, ...others]) {
    const [method = '', status, body = ''] = row.split(' ')
    const query = `?status=${status}&body=${body}`
    const { headers } = await app.inject({
      method: method as 'GET',
      url: `/v1/users/me${query}`,
      headers: eve,
    })
    t.equal(headers['content-location'], ofRecord.includes(row) ? `/v1/users/7${query}` : undefined, row)
  }
  const given = await app.inject({ url: '/v1/users/me?status=200&body=x&location=/given', headers: eve })
  t.equal(given.headers['content-location'], '/given', 'that of the handler stays')
  for (const [method, query, isFound] of [
    ['GET', 'web&status=302&body=x', false],
    ['PUT', 'web&status=200&body=x', true],
    ['PUT', 'web&status=200', false],
  ] as const) {
    const { headers } = await app.inject({ method, url: `/v1/users/me?${query}`, headers: eve })
    const vary = 'accept, authorization, cookie'
    t.match(headers, { etag: '"v7;self=7"', vary, 'cache-control': 'private' }, 'of a web Response')
    t.equal('content-location' in headers, isFound, `${method} ${query}`)
  }
  const encoded = await app.inject({ url: '/v1/users/%6de?status=200&body=x', headers: eve })
  t.notOk('content-location' in encoded.headers, 'the alias is not at its place')
})

t.test('the tags of two accounts differ, even if their records have the same version', async (t) => {
  const app = await presetWith((app) => {
    const validators = () => ({ version: 7, lastModified: new Date(0) })
    const config = { caching: { validators, preconditions: 'required' as const } }
    const handler = async (request: FastifyRequest) => request.params
    app.route({ method: ['GET', 'PATCH'], url: '/v1/users/:id', config, handler })
  })
  const ask = (method: 'GET' | 'PATCH', id: string, headers: Record<string, string>) =>
    app.inject({ method, url: `/v1/users/${id}`, headers, ...(method === 'PATCH' ? { payload: {} } : {}) })

  const { etag: tag } = (await ask('GET', 'me', eve)).headers
  t.equal(tag, '"7;self=7"')
  const etag = String(tag)
  const again = await ask('GET', 'me', { ...eve, 'if-none-match': etag })
  t.equal(again.statusCode, 304)
  t.match(again.headers, { etag, 'content-location': '/v1/users/7', vary: 'authorization, cookie' })
  t.equal((await ask('GET', 'me', { ...ada, 'if-none-match': etag })).statusCode, 200, 'another account')
  const date = 'Fri, 01 Jan 2100 00:00:00 GMT'
  t.equal((await ask('GET', 'me', { ...ada, 'if-modified-since': date })).statusCode, 200)
  t.equal((await ask('GET', '7', { 'if-modified-since': date })).statusCode, 304, 'under an id a date counts')
  t.equal((await ask('GET', '7', { 'if-none-match': etag })).statusCode, 304, 'under its own id')
  t.equal((await ask('GET', '8', { 'if-none-match': etag })).statusCode, 200)
  t.equal((await ask('PATCH', 'me', { ...eve, 'if-match': etag })).statusCode, 200)
  t.equal((await ask('PATCH', '7', { 'if-match': `"6", ${etag}` })).statusCode, 200)
  t.equal((await ask('PATCH', 'me', { ...ada, 'if-match': etag })).statusCode, 412)
  t.equal((await ask('PATCH', 'me', eve)).statusCode, 428)
  t.equal((await ask('GET', '7', {})).headers.etag, '"7"', 'without an alias, as ever')
})

t.test('a record whose id is an alias cannot be created', async (t) => {
  const app = await presetWith(addUsers)
  for (const [method, url, payload, status] of [
    ['POST', '/v1/users', { id_str: 'self' }, 400],
    ['POST', '/v1/orders', { id: 'me' }, 201],
    ['POST', '/v1/users', { id: 'Me' }, 400],
    ['PUT', '/v1/users/7', { id: 'me' }, 400],
    ['PATCH', '/v1/users/7', { id: 'me' }, 400],
    ['POST', '/v1/users', { id: 'mel', name: 'me' }, 201],
    ['POST', '/v1/users', [], 201],
    ['PUT', '/v1/users/7/settings', { id: 'me' }, 200],
    ['PUT', '/v1/users/7', { name: 'me' }, 200],
  ] as const) {
    const answer = await app.inject({ method, url, payload })
    const about = `${method} ${url} ${JSON.stringify(payload)}`
    const pointer = `/${Object.keys(payload)[0]}`
    const errors = [{ in: 'body', pointer, message: 'is reserved for the caller' }]
    if (status === 400) isProblem(t, injected(answer), { status, code: 'validation', errors }, about)
    else t.equal(answer.statusCode, status, about)
  }
})

t.test('an id that the validator makes an alias is refused', async (t) => {
  const body = { type: 'object', properties: { id: { type: 'string' } } }
  const app = await presetWith((app) => {
    app.post('/v1/users', { schema: { body } }, async (_request, reply) => reply.code(201).send({}))
    const trim = ({ id }: { readonly id: string }) => ({ value: { id: id.trim() } })
    const validatorCompiler = () => trim
    app.put('/v1/users/:id', { schema: { body }, validatorCompiler }, async () => ({}))
  })
  const refusal = { status: 400, code: 'validation', errors: [{ pointer: '/id' }] }
  const posted = await app.inject({ method: 'POST', url: '/v1/users', payload: { id: ['me'] } })
  t.match(posted.json(), refusal)
  const put = await app.inject({ method: 'PUT', url: '/v1/users/7', payload: { id: ' self ' } })
  t.match(put.json(), refusal)
})

t.test('the parameter after a collection is the alias, unless config.selfAlias says otherwise', async (t) => {
  const rows: readonly (readonly [pattern: string, url: string, ids: string, own?: object | boolean])[] = [
    ['/v1/users/:id', '/v1/users/me', 'me', false],
    ['/v1/users/:id/:page', '/v1/users/me/me', '7/me'],
    ['/v1/users/:id/x/:page?', '/v1/users/me/x', '7'],
    ['/v1/orgs/:org/users/:user_id(^\\w+$)/x/:x', '/v1/orgs/o/users/me/x/me', 'o/7/me'],
    ['/v1/users/:org_id/members/:id', '/v1/users/me/members/me', 'me/7', { param: 'id' }],
    ['/v1/users/all/:id', '/v1/users/all/me', 'me'],
    ['/v1/users/all/users/:id', '/v1/users/all/users/me', '7'],
    ['/v1/things/:id', '/v1/things/me', 'me'],
    ['/:id', '/me', 'me'],
    ['/v1/accounts/:account_id', '/v1/accounts/me', '7', true],
    ['/v1/teams/:id?', '/v1/teams/me', '7', true],
    ['/v1/users/:id/files/*', '/v1/users/me/files/a', 'me/a'],
    ['/v1/users/:id/pages/*', '/v1/users/me/pages/a', '7/a', { param: 'id' }],
  ]
  const app = await presetWith((app) => {
    for (const [pattern, , , own] of rows) {
      const config = { pathGuard: false as const, ...(own !== undefined && { selfAlias: own }) }
      app.get(pattern, { config }, async ({ params }) => params)
    }
    app.get('/v1/users/:id/hidden', { schema: { hide: true } as object }, async ({ params }) => params)
    app.post('/v1/users/', { config: { pathGuard: false } }, async () => ({}))
    app.post('/v1/accounts', { config: { selfAlias: true } }, async () => ({}))
    app.put('/v1/teams/:id/', { config: { selfAlias: true, pathGuard: false } }, async () => ({}))
  })
  for (const [pattern, url, ids] of [...rows, ['a hidden route', '/v1/users/me/hidden', 'me']] as const)
    t.equal(Object.values((await app.inject({ url, headers: eve })).json()).join('/'), ids, pattern)
  for (const [method, url] of [
    ['POST', '/v1/accounts'],
    ['POST', '/v1/users/'],
    ['PUT', '/v1/teams/7/'],
  ] as const) {
    const { statusCode } = await app.inject({ method, url, payload: { id: 'me' } })
    t.equal(statusCode, 400, `me is reserved: ${url}`)
  }
})

t.test('collections without a route are logged', async (t) => {
  for (const [collections, logged] of [
    [['user'], [{ msg: /no route is in user/ }]],
    [['users'], []],
    [[], []],
  ] as const) {
    const { logger, lines } = keepLogs('warn')
    const app = await withPlugins(Fastify({ logger }), [selfAlias, { identify, collections }])
    app.get('/v1/users/:id', async () => ({}))
    await app.ready()
    t.match(lines, logged)
    t.equal(lines.length, logged.length, `${collections}`)
  }
})

t.test('in report mode aliases are only counted, and identify is not called; off does nothing', async (t) => {
  const identify = () => t.fail('identify is called') as never
  const counted = [
    ['alias', 'GET, PUT, PATCH /v1/users/:id', 1],
    ['reserved', 'POST /v1/users', 1],
  ]
  for (const [mode, rows] of [['report', counted] as const, ['off', []] as const]) {
    const app = await presetWith(addUsers, { mode, identify })
    const get = async (id: string) => app.inject({ url: `/v1/users/${id}`, headers: eve })
    t.equal((await get('me')).statusCode, 400, 'no integer')
    t.notOk('content-location' in (await get('7')).headers)
    const made = await app.inject({ method: 'POST', url: '/v1/users', payload: { id: 'me' } })
    t.equal(made.statusCode, 201)
    const observed = app.conventions.report().observations.filter(({ plugin }) => plugin === 'selfAlias')
    const told = observed.map(({ rule, route, count }) => [rule, route, count])
    t.strictSame(told, rows)
  }
})

t.test('invalid options are refused', async (t) => {
  for (const [options, message] of [
    [{ identify: 'me' }, /selfAlias\.identify: expected a function/],
    [{ collections: ['users/x'] }, /selfAlias\.collections\[0\]/],
    [{ aliases: ['Me'] }, /selfAlias\.aliases\[0\]/],
    [{ collections: ['/users'] }, /selfAlias\.collections\[0\]/],
    [{ aliases: [] }, /selfAlias\.aliases: expected at least one/],
    [{ aliases: ['me', 'me!'] }, /selfAlias\.aliases\[1\]/],
    [{ vary: ['a b'] }, /selfAlias\.vary\[0\]/],
  ] as const)
    await t.rejects(async () => Fastify().register(selfAlias, options as object), { message })
  const app = await presetWith(() => {})
  for (const [url, own, message] of [
    ['/v1/things', true, /GET \/v1\/things config\.selfAlias: expected in a route with one parameter/],
    ['/v1/a/:a/b/:b', true, /one parameter/],
    ['/v1/a/:a', { param: 'id' }, /one parameter/],
    ['/v1/a/:a', 'me', /expected an object, true or false/],
  ] as const)
    t.throws(() => app.get(url, { config: { selfAlias: own as boolean } }, async () => ({})), { message })
})

t.test('without identify the caller is request.caller, which an app has to set to boot', async (t) => {
  const config = { selfAlias: true }
  const withoutCallers = async (mode: 'enforce' | 'report') => {
    const app = await appOf([selfAlias, { mode }])
    app.get('/v1/users/:id', { config }, async () => ({}))
    await app.ready().then(undefined, rethrowUnwrapped)
  }
  const message = /GET \/v1\/users\/:id +selfAlias\.identify +.*selfAlias: \{ identify \}, or bearer/
  await t.rejects(withoutCallers('enforce'), { code: 'FST_CONV_FINDINGS', message })
  await t.resolves(withoutCallers('report'))
  const app = await appOf(problems, [selfAlias, { aliases: ['me', 'my-self'] }])
  await app.register(async (callers) => {
    callers.decorateRequest('caller', null)
    callers.addHook('onRequest', async (request) => {
      const { authorization: subject } = request.headers
      request.caller = subject === undefined ? null : { subject, scopes: [], claims: {} }
    })
    callers.get('/v1/users/:id', { config }, async (request) => request.params)
  })
  for (const alias of ['me', 'my-self'])
    t.same((await app.inject({ url: `/v1/users/${alias}`, headers: ada })).json(), { id: 'ada' })
  isProblem(t, injected(await app.inject('/v1/users/me')), { status: 401, code: 'unauthorized' })
})

t.test('the target with the id in place of the alias', async (t) => {
  const place = { parameter: 'id', before: 2, after: 1 }
  for (const [target, own] of [
    ['/v1/users/me/x?a=me&b', '/v1/users/7/x?a=me&b'],
    ['/api/v1/users/me/x', '/api/v1/users/7/x'],
    ['//v1/users/me/x', '/v1/users/7/x'],
    ['/v1/users/me/x/', '/v1/users/7/x/'],
    ['/v1/users/%6de/x', null],
    ['/elsewhere', null],
  ] as const)
    t.equal(ownTarget(target, place, 'me', '7'), own, target)
})

t.test('an id in the path is encoded as one segment', async () => {
  const place = { parameter: 'id', before: 1, after: 0 }
  const id = fc.string({ unit: 'grapheme', minLength: 1 })
  forAll(id, (id) => {
    const segments = ownTarget('/users/me', place, 'me', id)?.split('/') ?? []
    return segments.length === 3 && decodeURIComponent(segments[2] ?? '') === id
  })
})

t.test('a tag contains the caller', async (t) => {
  t.equal(withCaller('nonsense', '42'), 'nonsense')
  t.equal(withoutCaller('"v6;self=42", W/"v7;self=42", "v7;self=4", *', '42'), '"v6", W/"v7", "v7;self=4", *')
  const id = fc.string({ unit: 'grapheme', minLength: 1 })
  forAll(fc.stringMatching(/^[a-z0-9-]*$/), id, id, (text, id, other) => {
    const tag = `"${text}"`
    const marked = withCaller(tag, id)
    const isTag = /^"[\x21\x23-\x7e]*"$/.test(marked)
    const isOthers = id === other || withoutCaller(marked, other) === marked
    return isTag && isOthers && withoutCaller(marked, id) === tag && withCaller(marked, id) === marked
  })
})

const described = { type: 'object', properties: { id: { ...wide, description: 'The user' } } }

t.test('the document shows the alias, Content-Location, the 401, and the 400 of a reserved id', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(selfAlias, { identify: () => 7, collections: ['users'] })
  await app.register(integerTwins)
  await app.register(caching)
  const response = { 200: { type: 'object', properties: { id: { type: 'integer' } } } }
  const schema = { params: described, response }
  app.get('/v1/users/:id', { schema }, async (request) => request.params)
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    app.route({ method, url: '/v1/users/:id', schema: { response }, handler: async () => ({}) })
  app.post('/v1/users', { schema: { response } }, async () => ({}))
  app.get('/v1/orders/:id', { schema }, async () => ({}))
  const ofText = { schema: { type: 'string' } }
  const texts = { type: 'object', properties: { id: ofText.schema, page: ofText.schema } }
  const below = { params: texts, querystring: texts }
  app.get('/v1/users/:id/:page', { schema: below }, async () => ({}))
  const { paths } = JSON.parse(JSON.stringify(await documentOf(app)))

  const own = paths['/v1/users/{id}'].get
  const ofInteger = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]*)$' }
  const either = { anyOf: [ofInteger, { type: 'string', enum: ['me', 'self'] }] }
  const description = "The user (me or self: the caller's own)"
  t.match(own.parameters, [{ name: 'id', in: 'path', required: true, description, schema: either }])
  const location = { headers: { 'Content-Location': ofText } }
  const challenge = { headers: { 'WWW-Authenticate': ofText } }
  t.match(own.responses, { 200: location, 304: location, 401: challenge })
  const { put, patch, delete: remove } = paths['/v1/users/{id}']
  const { post } = paths['/v1/users']
  const withReserved = [post, put, patch, remove].map(({ responses }) =>
    JSON.stringify(responses).includes('"validation"'),
  )
  t.strictSame(withReserved, [true, true, true, false])
  for (const { responses } of [put, patch]) t.match(responses, { 200: location, 401: challenge })
  t.match(remove.responses, { 401: challenge })
  t.notMatch(remove.responses, { 200: location })
  const others = paths['/v1/users/{id}/{page}'].get.parameters
  const told = others.map((one: Record<string, unknown>) => [one.in, one.name, one.description])
  t.strictSame(told.filter(([place]: string[]) => place !== 'header').sort(), [
    ['path', 'id', "me or self: the caller's own"],
    ['path', 'page', undefined],
    ['query', 'id', undefined],
    ['query', 'page', undefined],
  ])
  t.match(paths['/v1/orders/{id}'].get.parameters[0].schema, ofInteger)

  t.equal((await app.inject('/v1/users/me')).body, '{"id":7}')
  const other = await app.inject('/v1/users/you')
  t.equal(other.statusCode, 400, 'the schema that validates is as it was')

  const reporting = Fastify()
  await reporting.register(swagger, { openapi: {} })
  await reporting.register(selfAlias, { identify: () => 7, collections: ['users'], mode: 'report' })
  reporting.post('/v1/users', async () => ({}))
  const reported = JSON.stringify(await documentOf(reporting))
  t.notMatch(reported, '"validation"', 'in report mode nothing is refused')
})
