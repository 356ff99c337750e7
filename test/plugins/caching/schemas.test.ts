/** What the OpenAPI document shows of caching, with the real `@fastify/swagger`. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type CachingOptions, caching, problems } from '../../../src/index.js'

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const validators = () => ({ version: 7 })

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly description?: string; readonly headers?: object; readonly content?: object }>
  >
}

async function documentOf(add: (app: FastifyInstance) => void, options: CachingOptions = {}) {
  const app = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(caching, options)
  app.addSchema({ $id: 'user', ...user })
  add(app)
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, Operation>> }
  return (path: string, method: string) => paths[path]?.[method]?.responses ?? {}
}

t.test('a read shows its headers, 304 and 412', async (t) => {
  const responses = (
    await documentOf((app) => app.get('/v1/users', { schema: { response: { 200: user } } }, () => ({})))
  )('/v1/users', 'get')
  t.strictSame(Object.keys(responses).sort(), ['200', '304', '412'])
  t.strictSame(Object.keys(responses['200']?.headers ?? {}).sort(), [
    'Cache-Control',
    'ETag',
    'Last-Modified',
  ])
  t.match(responses['304']?.description, /Not modified/)
  t.match(responses['412']?.description, /precondition/)
  t.notOk('content' in (responses['304'] ?? {}), 'a 304 has no content')
})

t.test('a write with validators shows 412, and 428 if preconditions are required', async (t) => {
  const schema = { response: { 200: user } }
  const shown = await documentOf((app) => {
    const caches = (preconditions: 'required' | 'optional') => ({ caching: { validators, preconditions } })
    app.put('/v1/a', { schema, config: caches('optional') }, () => ({}))
    app.put('/v1/b', { schema, config: caches('required') }, () => ({}))
    app.put('/v1/c', { schema }, () => ({}))
    app.put('/v1/e', { schema, config: { caching: { validatorsOf: validators } } }, () => ({}))
    app.route({
      method: ['GET', 'POST'],
      url: '/v1/d',
      schema,
      config: caches('required'),
      handler: () => ({}),
    })
  })
  t.strictSame(Object.keys(shown('/v1/a', 'put')).sort(), ['200', '412'])
  t.strictSame(Object.keys(shown('/v1/b', 'put')).sort(), ['200', '412', '428'])
  t.strictSame(Object.keys(shown('/v1/c', 'put')), ['200'], 'not evaluated, not shown')
  for (const path of ['/v1/a', '/v1/b', '/v1/c'])
    t.notOk('ETag' in (shown(path, 'put')['200']?.headers ?? {}), 'no tag, none shown')
  t.strictSame(
    Object.keys(shown('/v1/e', 'put')['200']?.headers ?? {}),
    ['Cache-Control', 'ETag', 'Last-Modified'],
    'the tag of what was written',
  )
  for (const method of ['get', 'post'])
    t.strictSame(Object.keys(shown('/v1/d', method)).sort(), ['200', '304', '412', '428'])
})

t.test('schemas that a route declares do not change', async (t) => {
  const own = { description: 'mine', ...user }
  const headers = { ETag: { type: 'string', description: 'mine' }, 'X-Own': { type: 'string' } }
  const shown = await documentOf((app) => {
    app.get('/v1/a', { schema: { response: { 200: { ...user, headers }, 304: own, 412: own } } }, () => ({}))
    app.get('/v1/b', { schema: { response: { 200: user, '4xx': own } } }, () => ({}))
    app.get('/v1/c', { schema: { response: { 200: user, default: own } } }, () => ({}))
    app.get('/v1/d', { schema: { response: { 200: { $ref: 'user#' } } } }, () => ({}))
    app.get('/v1/e', { schema: { summary: 'no response schema' } }, () => ({}))
    const schema = { response: { 200: { content: { 'application/json': { schema: user } } } } }
    app.get('/v1/f', { schema }, () => ({}))
  })
  const a = shown('/v1/a', 'get')
  t.equal(a['304']?.description, 'mine')
  t.equal(a['412']?.description, 'mine')
  t.match(a['200']?.headers, { ETag: { description: 'mine' }, 'X-Own': {}, 'Cache-Control': {} })
  t.strictSame(Object.keys(shown('/v1/b', 'get')).sort(), ['200', '304', '4XX'])
  t.strictSame(Object.keys(shown('/v1/c', 'get')).sort(), ['200', '304', 'default'])
  t.match(shown('/v1/d', 'get')['200']?.content, { 'application/json': { schema: { $ref: /./ } } })
  t.strictSame(Object.keys(shown('/v1/e', 'get')), ['200', '304', '412'])
  t.match(shown('/v1/f', 'get')['200'], { headers: { ETag: {} }, content: { 'application/json': {} } })
})

t.test('responses are serialized as without the plugin, also 412', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(caching)
  const response = { 200: user, '4xx': { type: 'object', properties: { code: { type: 'string' } } } }
  app.get('/v1/users', { schema: { response } }, () => ({ id: 1, secret: 2 }))
  app.get('/v1/class', { schema: { response } }, (_, reply) => reply.code(412).send({ code: 'x', secret: 2 }))
  t.equal((await app.inject('/v1/users')).payload, '{"id":1}')
  const refused = await app.inject({ url: '/v1/users', headers: { 'if-match': '"old"' } })
  t.match(refused.json(), { status: 412, code: 'precondition-failed' })
  t.notMatch((await app.inject('/v1/class')).payload, /secret/)
})

t.test('report and off change no schema', async (t) => {
  for (const mode of ['report', 'off'] as const) {
    const shown = await documentOf(
      (app) => app.get('/v1/users', { schema: { response: { 200: user } } }, () => ({})),
      { mode },
    )
    t.strictSame(Object.keys(shown('/v1/users', 'get')), ['200'], mode)
    t.notOk('headers' in (shown('/v1/users', 'get')['200'] ?? {}))
  }
})
