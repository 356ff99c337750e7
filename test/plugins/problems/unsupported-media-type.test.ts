import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

type Method = 'POST' | 'PUT' | 'PATCH'

t.test('Accept names the media types that the context parses (RFC 9110 §15.5.16)', async (t) => {
  const app = await appWith([])
  await refuses(t, app, 'POST', { accept: 'application/json' })
  await refuses(t, app, 'PUT', { accept: 'application/json' })

  const forms = await appWith(['application/x-www-form-urlencoded', 'multipart/form-data'])
  const accept = 'application/json, application/x-www-form-urlencoded, multipart/form-data'
  await refuses(t, forms, 'POST', { accept })
})

t.test('Accept-Patch names the patch formats (RFC 5789 §2.2, §3.1)', async (t) => {
  const app = await appWith([])
  await refuses(t, app, 'PATCH', { 'accept-patch': 'application/json' })

  const patches = await appWith(['application/merge-patch+json', 'application/json-patch+json', 'text/csv'])
  const formats = 'application/merge-patch+json, application/json-patch+json, application/json'
  await refuses(t, patches, 'PATCH', { 'accept-patch': formats })
})

t.test('a context with parsers of its own names those in Accept, or none', async (t) => {
  const app = await appWith([])
  const type = 'application/merge-patch+json'
  app.register(async (child) => {
    child.removeAllContentTypeParsers()
    addRoute(child, '/none')
    child.register(async (inner) => {
      inner.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
      addRoute(inner, '/child')
    })
  })
  await refuses(t, app, 'PATCH', { 'accept-patch': type }, '/child')
  await refuses(t, app, 'PATCH', { 'accept-patch': 'application/json' })
  for (const method of ['POST', 'PATCH'] as const) await refuses(t, app, method, {}, '/none')
  const headers = { 'content-type': type }
  const taken = await app.inject({ method: 'PATCH', url: '/child', headers, payload: '{"name":"Ada"}' })
  t.strictSame([taken.statusCode, taken.payload], [200, '{"name":"Ada"}'])
})

t.test('the detail says that there is no Content-Type, and has the start of a long one', async (t) => {
  const app = await appWith([])
  for (const [type, detail] of [
    ['', /^The body has no Content-Type$/],
    [`text/${'x'.repeat(5000)}`, /^text\/xxx.{1,190}$/],
  ] as const) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/route', payload: 'x', headers })
    isProblem(t, injected(response), { status: 415, code: 'unsupported-media-type', detail })
  }
})

t.test('a 415 that is thrown or sent by a handler gets the same headers', async (t) => {
  const app = await appWith([])
  app.post('/thrown', async () => Promise.reject(Object.assign(new Error('no'), { statusCode: 415 })))
  app.patch('/written', async (_request, reply) => reply.code(415).send())

  const thrown = await app.inject({ method: 'POST', url: '/thrown' })
  isProblem(t, injected(thrown), { status: 415, code: 'unsupported-media-type' })
  t.equal(thrown.headers.accept, 'application/json')
  const written = await app.inject({ method: 'PATCH', url: '/written' })
  isProblem(t, injected(written), { status: 415, code: 'unsupported-media-type' })
  t.equal(written.headers['accept-patch'], 'application/json')
})

async function appWith(types: readonly string[]): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  for (const type of types) {
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  }
  addRoute(app, '/route')
  return app
}

function addRoute(app: FastifyInstance, url: string): void {
  app.route({ method: ['POST', 'PUT', 'PATCH'], url, handler: async (request) => request.body })
}

/** Sends a body in a format without a parser, and expects these headers and no others of their kind. */
async function refuses(
  t: Test,
  app: FastifyInstance,
  method: Method,
  expected: { readonly accept?: string; readonly 'accept-patch'?: string },
  url = '/route',
): Promise<void> {
  const headers = { 'content-type': 'application/xml' }
  const response = await app.inject({ method, url, headers, payload: '<a/>' })
  isProblem(t, injected(response), { status: 415, code: 'unsupported-media-type' }, `${method} ${url}`)
  const names = ['accept', 'accept-patch'] as const
  const sent = names.flatMap((name) => (name in response.headers ? [[name, response.headers[name]]] : []))
  t.strictSame(Object.fromEntries(sent), expected, `${method} ${url}`)
}

t.test('a validation problem is a 415 only if a text was sent for another body', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const schema = {
    body: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } },
    querystring: { type: 'object', properties: { limit: { type: 'integer' } } },
  }
  app.post('/', { schema }, async () => ({}))
  const errors = [{ in: 'body', pointer: '', message: 'is taken' }] as const
  app.post('/taken', async () => Promise.reject(new ProblemError('name-taken', { status: 409, errors })))
  const post = (type: string, payload: string, url = '/') =>
    app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload })
  const text = await post('text/plain; charset=utf-8', 'Ada')
  isProblem(t, injected(text), { status: 415, code: 'unsupported-media-type', detail: /^text\/plain is not/ })
  t.equal(text.headers.accept, 'application/json')
  for (const [about, response] of [
    ['a JSON string', await post('application/json', '"Ada"')],
    ['one with a charset', await post('application/json; charset=utf-8', '"Ada"')],
    ['a member', await post('application/json', '{"name":"Grace"}')],
    ['the query', await post('application/json', '{}', '/?limit=x')],
  ] as const) {
    isProblem(t, injected(response), { status: 400, code: 'validation' }, about)
  }
  const taken = await post('text/plain', 'Ada', '/taken')
  isProblem(t, injected(taken), { status: 409, code: 'name-taken', errors }, 'another problem with the body')
})
