/** What the OpenAPI document shows of caching, with the real `@fastify/swagger`. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type CachingOptions, caching, problems } from '../../../src/index.js'

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const validators = () => ({ version: 7 })

interface Operation {
  readonly parameters?: readonly { readonly name: string }[]
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
  const shown = (path: string, method: string) => paths[path]?.[method]?.responses ?? {}
  const parameters = (path: string, method: string) =>
    (paths[path]?.[method]?.parameters ?? []).map(({ name }) => name)
  return Object.assign(shown, { parameters })
}

t.test('a read shows its headers, 304 and 412, and the conditions that it takes', async (t) => {
  const schema = { response: { 200: user } }
  const [all, tag, date] = ['Cache-Control', 'ETag', 'Last-Modified']
  const reading = ['If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Unmodified-Since']
  for (const [own, ok, notModified] of [
    [{}, [all, tag, date], [all, tag, 'Vary']],
    [{ etag: false }, [all, date], [all, date, 'Vary']],
    [{ etag: false, validators, preconditions: 'required' }, [all, tag, date], [all, tag, 'Vary']],
  ] as const) {
    const shown = await documentOf((app) =>
      app.get('/v1/users', { schema, config: { caching: own } }, () => ({})),
    )
    const responses = shown('/v1/users', 'get')
    t.strictSame(Object.keys(responses).sort(), ['200', '304', '412'])
    t.strictSame(Object.keys(responses['200']?.headers ?? {}).sort(), ok)
    t.strictSame(Object.keys(responses['304']?.headers ?? {}).sort(), notModified)
    t.match(responses['304']?.description, /Not modified/)
    t.match(responses['412']?.description, /precondition/)
    t.notOk('content' in (responses['304'] ?? {}), 'a 304 has no content')
    t.strictSame(shown.parameters('/v1/users', 'get').sort(), reading)
  }
})

t.test('a write with validators shows 412, and 428 if preconditions are required', async (t) => {
  const schema = { response: { 200: user } }
  const required = { validators, preconditions: 'required' } as const
  const writing = ['If-Match', 'If-None-Match', 'If-Unmodified-Since']
  const tagged = ['Cache-Control', 'ETag', 'Last-Modified']
  for (const [own, statuses, headers, parameters] of [
    [{ validators }, ['200', '412'], ['Cache-Control'], writing],
    [required, ['200', '412', '428'], ['Cache-Control'], writing],
    [{}, ['200'], ['Cache-Control'], []],
    [{ validatorsOf: validators }, ['200'], tagged, []],
  ] as const) {
    const shown = await documentOf((app) =>
      app.put('/v1/a', { schema, config: { caching: own } }, () => ({})),
    )
    const responses = shown('/v1/a', 'put')
    t.strictSame(Object.keys(responses).sort(), statuses)
    t.strictSame(Object.keys(responses['200']?.headers ?? {}), headers)
    t.strictSame(shown.parameters('/v1/a', 'put').sort(), parameters)
  }
  const shown = await documentOf((app) => {
    const config = { caching: required }
    app.route({ method: ['GET', 'POST'], url: '/v1/d', schema, config, handler: () => ({}) })
  })
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
  app.get('/v1/own', { schema: { response: { 200: user } } }, (_, reply) =>
    reply.code(412 as 200).send({ a: 1 } as never),
  )
  t.equal((await app.inject('/v1/users')).payload, '{"id":1}')
  t.equal((await app.inject('/v1/own')).statusCode, 412)
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
