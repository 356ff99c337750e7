/** What the OpenAPI document shows of caching, with the real `@fastify/swagger`. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type CachingOptions, caching } from '../../../src/index.js'
import { withoutReferences } from '../../support/openapi.js'

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
  const { paths } = withoutReferences(app.swagger()) as unknown as {
    paths: Record<string, Record<string, Operation>>
  }
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
    [{ vary: ['accept-language'] }, [all, tag, date, 'Vary'], [all, tag, 'Vary']],
    [{ expires: Date.now() + 60_000 }, [all, tag, 'Expires', date], [all, tag, 'Vary']],
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
    [{ validators, vary: ['accept'] }, ['200', '412'], ['Cache-Control'], writing],
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
