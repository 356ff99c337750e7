import type { FastifyInstance } from 'fastify'
import { requestBytes } from '../../support/raw.js'

const user = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    updated_at: { type: 'string', format: 'date-time' },
  },
}
const account = {
  type: 'object',
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string' } },
}
const updated_at = '2026-11-19T08:00:00Z'

/** Declares routes that keep the rules of the boot, and a few responses that do not keep those of requests. */
export function addRoutes(app: FastifyInstance): void {
  app.get('/v1/users', { schema: { response: { 200: usersOf(user) } } }, async () => ({
    users: [{ id: 1, name: 'Ada', updated_at }],
  }))
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, async () => ({
    id: 1,
    name: 'Ada',
    updated_at,
  }))
  app.post('/v1/users', { schema: { body: user, response: { 201: user } } }, async (request, reply) =>
    reply.code(201).send(request.body),
  )
  app.put('/v1/users/:id', { schema: { body: user } }, async (request) => request.body)
  app.delete('/v1/users/:id', async (_request, reply) => reply.code(204).send())
  app.get('/v1/accounts/:id', { schema: { params: account, response: { 200: account } } }, async () => ({
    id: 2n ** 60n + 1n,
    name: 'Ada',
  }))
  app.post('/v1/accounts', { schema: { body: account } }, async (request) => ({
    kind: typeof (request.body as { readonly id?: unknown }).id,
  }))
  app.post('/v1/echoes', async (request) => ({ echo: request.body ?? null }))
  app.get('/v1/names', async () => ({ name: 'Ada' }))
  app.get('/v1/headers', async (_request, reply) =>
    reply
      .headers({ 'cache-control': 'public, max-age=60', vary: 'Accept-Language', etag: '"own"' })
      .send({ name: 'Ada' }),
  )
  app.get('/v1/ages', async (_request, reply) =>
    reply.header('cache-control', 'max-age=60').send({ name: 'Ada' }),
  )
  app.get('/v1/leftovers', async (_request, reply) =>
    reply.code(410).headers({ 'cache-control': 'max-age=60', etag: '"own"' }).type('text/plain').send('gone'),
  )
  app.get('/v1/texts', async (_request, reply) => reply.type('text/plain').send('Ada'))
  app.get('/v1/pages', async (_request, reply) => reply.type('text/html').send('<p>Ada</p>'))
  app.get('/v1/moves', async (_request, reply) => reply.redirect('/v1/users', 302))
  app.get('/v1/faults', async () => {
    throw new Error('broken')
  })
  app.get('/v1/conflicts', async (_request, reply) => reply.code(409).send({ message: 'twice' }))
  app.get(
    '/v1/articles',
    {
      config: {
        caching: {
          cacheControl: { maxAge: 60 },
          expires: 'Fri, 01 Oct 2027 00:00:00 GMT',
          vary: ['accept-language'],
        },
      },
    },
    async () => ({ articles: [] }),
  )
  app.put('/v1/articles/:id', { config: { caching: { validators: () => ({ etag: '"1"' }) } } }, async () => ({
    id: 1,
  }))
  app.get('/v1/lists', { config: { lists: {} } }, async () => ({
    lists: [{ id: 1, created_at: updated_at }],
  }))
  app.get('/v2/users', async () => ({ users: [] }))
  app.get('/v1/quotas', { config: { rateLimit: { max: 1 } } }, async () => ({ name: 'Ada' }))
}

function usersOf(item: object): object {
  return { type: 'object', properties: { users: { type: 'array', items: item } } }
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const put = (headers: Readonly<Record<string, string>>) =>
  requestBytes('PUT', '/v1/articles/1', { ...json, ...headers }, '{"id":1}')
const echo = (headers: Readonly<Record<string, string>>, body = '') =>
  requestBytes('POST', '/v1/echoes', { 'content-length': String(body.length), ...headers }, body)
const gets = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  requestBytes('GET', path, headers)

/** The requests, as they come over the wire, by what they are. */
export const requests: Readonly<Record<string, string>> = {
  // What is good.
  list: gets('/v1/users'),
  item: gets('/v1/users/1'),
  'head of an item': requestBytes('HEAD', '/v1/users/1'),
  'without a schema': gets('/v1/names'),
  'headers of the app': gets('/v1/headers'),
  'headers of the app, with credentials': gets('/v1/ages', { authorization: 'Bearer x' }),
  'an error with caching headers': gets('/v1/leftovers'),
  text: gets('/v1/texts'),
  page: gets('/v1/pages'),
  redirect: gets('/v1/moves'),
  'a version that is deprecated': gets('/v2/users'),
  'caching of the route': gets('/v1/articles'),
  'page of a list': gets('/v1/lists?limit=1'),
  create: requestBytes('POST', '/v1/users', json, '{"name":"Ada"}'),
  remove: requestBytes('DELETE', '/v1/users/1'),
  // Errors.
  fault: gets('/v1/faults'),
  conflict: gets('/v1/conflicts'),
  'unknown path': gets('/v1/nothing'),
  'unknown path, to post': requestBytes('POST', '/v1/nothing', json, '{}'),
  'a method without a route': requestBytes('DELETE', '/v1/users'),
  'a method that no route has': requestBytes('PROPFIND', '/v1/users'),
  'a method that Node.js does not know': requestBytes('NONSENSE', '/v1/users'),
  options: requestBytes('OPTIONS', '/v1/users'),
  trace: requestBytes('TRACE', '/v1/users'),
  // Targets.
  uppercase: gets('/v1/Users'),
  encoded: gets('/v1/%75sers'),
  'malformed escape': gets('/v1/%zz'),
  'a very long path': gets(`/v1/users/${'a'.repeat(5000)}`),
  'a very long query': gets(`/v1/users?q=${'a'.repeat(9000)}`),
  'absolute form': gets('http://localhost/v1/users'),
  fields: gets('/v1/users?fields=name'),
  'unknown fields': gets('/v1/users?fields=nope'),
  // A list route is one in each mode.
  'a limit': gets('/v1/lists?limit=5'),
  'unknown format': gets('/v1/users?format=xml'),
  // Header fields.
  'without Host': 'GET /v1/users HTTP/1.1\r\nConnection: close\r\n\r\n',
  'HTTP/1.0': 'GET /v1/users HTTP/1.0\r\n\r\n',
  'two Hosts': 'GET /v1/users HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
  'two Content-Types':
    'POST /v1/echoes HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}',
  'two Accepts':
    'GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept: text/html\r\nAccept: text/plain\r\n\r\n',
  'two Authorizations':
    'GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n',
  'Accept of HTML': gets('/v1/users', { accept: 'text/html' }),
  'Accept of nothing': gets('/v1/users', { accept: '*/*;q=0' }),
  'Accept that is malformed': gets('/v1/users', { accept: 'json' }),
  'Accept-Encoding': gets('/v1/users', { 'accept-encoding': 'gzip' }),
  'expects 100-continue': echo({ ...json, expect: '100-continue' }, '{"a":1}'),
  'expects something else': echo({ ...json, expect: '200-ok' }, '{"a":1}'),
  'header field of 10,000 characters': gets('/v1/users', { 'x-long': 'a'.repeat(10_000) }),
  'two hundred header fields': gets(
    '/v1/users',
    Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}`, 'a'])),
  ),
  origin: gets('/v1/users', { origin: 'https://a.example' }),
  'origin that is not allowed': gets('/v1/users', { origin: 'https://b.example' }),
  preflight: requestBytes('OPTIONS', '/v1/users', {
    origin: 'https://a.example',
    'access-control-request-method': 'GET',
  }),
  // Preconditions.
  'If-None-Match of the tag of the app': gets('/v1/headers', { 'if-none-match': '"own"' }),
  'If-None-Match of anything': gets('/v1/users/1', { 'if-none-match': '*' }),
  'If-Modified-Since': gets('/v1/users/1', { 'if-modified-since': 'Thu, 19 Nov 2026 08:00:00 GMT' }),
  'If-Match that fails, on a read': gets('/v1/users/1', { 'if-match': '"x"' }),
  'If-Match that fails': put({ 'if-match': '"x"' }),
  'If-Match that holds': put({ 'if-match': '"1"' }),
  'write without a precondition': put({}),
  'If-Match without validators': requestBytes(
    'PUT',
    '/v1/users/1',
    { ...json, 'if-match': '"x"' },
    '{"id":1}',
  ),
  // Bodies.
  'not UTF-8': echo(json, '{"a":"\xff"}'),
  'not UTF-8, with a schema': requestBytes(
    'POST',
    '/v1/users',
    { ...json, 'content-length': '12' },
    '{"name":"\xff"}',
  ),
  'charset of UTF-8': echo({ 'content-type': 'application/json; charset=utf-8' }, '{"a":1}'),
  'charset of Latin-1': echo({ 'content-type': 'application/json; charset=iso-8859-1' }, '{"a":"b"}'),
  'charset that is unknown': echo({ 'content-type': 'application/json; charset=x' }, '{"a":1}'),
  'a parameter of JSON': echo({ 'content-type': 'application/json; profile=x' }, '{"a":1}'),
  'gzip without gzip': echo({ ...json, 'content-encoding': 'gzip' }, '{"a":1}'),
  'coding that is unknown': echo({ ...json, 'content-encoding': 'x' }, '{"a":1}'),
  'coding identity': echo({ ...json, 'content-encoding': 'identity' }, '{"a":1}'),
  'empty body of JSON': requestBytes('POST', '/v1/echoes', { ...json, 'content-length': '0' }),
  'empty body, to delete': requestBytes('DELETE', '/v1/users/1', { ...json, 'content-length': '0' }),
  'empty chunked body': requestBytes(
    'POST',
    '/v1/echoes',
    { ...json, 'transfer-encoding': 'chunked' },
    '0\r\n\r\n',
  ),
  'no body and no type': requestBytes('POST', '/v1/echoes', { 'content-length': '0' }),
  'without a type': echo({}, '{"a":1}'),
  'malformed type': echo({ 'content-type': 'nonsense' }, 'x'),
  'text/plain': echo({ 'content-type': 'text/plain' }, 'x'),
  'type without a parser': echo({ 'content-type': 'text/html' }, 'x'),
  'merge patch': echo({ 'content-type': 'application/merge-patch+json' }, '{"a":1}'),
  'malformed JSON': echo(json, '{"a":'),
  'JSON with a prototype': echo(json, '{"__proto__":{}}'),
  'JSON with a byte order mark': echo(json, '\xef\xbb\xbf{"a":1}'),
  'invalid by the schema': requestBytes('POST', '/v1/users', json, '{"id":"x"}'),
  'body that is too large': requestBytes('POST', '/v1/echoes', { ...json, 'content-length': '2000000' }),
  'body of a GET': requestBytes('GET', '/v1/users', { ...json }, '{"a":1}'),
  'unsafe integer, undeclared': echo(json, '{"id":9007199254740993}'),
  'unsafe integer, declared': requestBytes('POST', '/v1/accounts', json, '{"id":9007199254740993}'),
  'safe integer, declared int64': requestBytes('POST', '/v1/accounts', json, '{"id":7}'),
  'twin alone': requestBytes('POST', '/v1/accounts', json, '{"id_str":"9007199254740993"}'),
  'twins that differ': requestBytes('POST', '/v1/accounts', json, '{"id":7,"id_str":"8"}'),
  'integer beyond int64': requestBytes('POST', '/v1/accounts', json, '{"id":99999999999999999999}'),
  'integer of a path': gets('/v1/accounts/9007199254740993'),
  'fraction in a path': gets('/v1/accounts/1.5'),
  // Method override.
  'override by a header': requestBytes('POST', '/v1/users/1', {
    'x-http-method-override': 'DELETE',
    'content-length': '0',
  }),
  'override that is invalid': requestBytes(
    'POST',
    '/v1/users',
    { ...json, 'x-http-method-override': 'TRACE' },
    '{}',
  ),
  'override of a GET': gets('/v1/users/1', { 'x-http-method-override': 'DELETE' }),
  'override by a form': requestBytes('POST', '/v1/users/1', form, '_method=DELETE'),
  form: echo(form, 'a=1'),
  // Idempotency.
  'idempotency key': requestBytes(
    'POST',
    '/v1/users',
    { ...json, 'idempotency-key': '"k1"' },
    '{"name":"Ada"}',
  ),
  'idempotency key that is malformed': requestBytes(
    'POST',
    '/v1/users',
    { ...json, 'idempotency-key': '"' },
    '{"name":"Ada"}',
  ),
  // Quotas.
  'first request of a quota': gets('/v1/quotas'),
  'request beyond a quota': gets('/v1/quotas'),
}
