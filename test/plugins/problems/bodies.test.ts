import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const json = 'application/json'

t.test('a body that is no JSON is a 400 (decisions §7)', async (t) => {
  const app = await appWithUsers()
  const table: ReadonlyArray<readonly [about: string, body: string]> = [
    ['cut off', '{"name":"A'],
    ['a comma too many', '{"name":"A",}'],
    ['single quotes', "{'name':'A'}"],
    ['empty', ''],
    ['only spaces', '  '],
    ['a number that JSON has not', '{"age":01}'],
    ['prototype poisoning', '{"__proto__":{"admin":true}}'],
    ['prototype poisoning, escaped', '{"\\u005f_proto__":{"admin":true}}'],
    ['prototype poisoning below', '{"name":{"__proto__":null}}'],
    ['constructor poisoning', '{"constructor":{"prototype":{"admin":true}}}'],
    ['control characters', '{"name":"\u0000"}'],
  ]

  for (const [about, payload] of table) {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/users',
      headers: { 'content-type': json },
      payload,
    })
    const expected = {
      status: 400,
      code: 'body-malformed',
      title: 'Malformed body',
      detail: /not valid JSON/,
    }
    isProblem(t, injected(response), expected, about)
    t.notMatch(response.payload, 'admin', `${about}: what was sent is not repeated`)
  }
})

t.test('a body that is larger than the route takes is a 413 (decisions §7)', async (t) => {
  const app = await appWithUsers()
  app.post('/v1/notes', { bodyLimit: 10 }, async () => ({}))
  const expected = { status: 413, code: 'content-too-large', title: 'Content too large', detail: /larger/ }

  const declared = await app.inject({ method: 'POST', url: '/v1/notes', payload: { text: 'long enough' } })
  isProblem(t, injected(declared), expected, 'by its Content-Length')
  const payload = JSON.stringify({ name: 'x'.repeat(1_048_577) })
  const headers = { 'content-type': json }
  const whole = await app.inject({ method: 'POST', url: '/v1/users', headers, payload })
  isProblem(t, injected(whole), expected, 'by the limit of the server')
})

t.test(
  'a body in a format that nobody parses is a 415 that names those parsed (RFC 9110 §15.5.16)',
  async (t) => {
    const app = await appWithUsers()
    for (const type of [
      'application/xml',
      'text/html; charset=utf-8',
      'application/x-www-form-urlencoded',
      'x/y',
    ]) {
      const response = await app.inject({
        method: 'POST',
        url: '/v1/users',
        headers: { 'content-type': type },
        payload: 'x',
      })
      const [name = ''] = type.split(';')
      const expected = { status: 415, code: 'unsupported-media-type', title: 'Unsupported media type' }
      isProblem(
        t,
        injected(response),
        { ...expected, detail: `${name} is not among the media types taken here` },
        type,
      )
      t.equal(response.headers.accept, json, `${type}: Accept`)
      t.notOk('accept-patch' in response.headers, `${type}: no Accept-Patch on POST`)
    }
  },
)

t.test('a PATCH in such a format is told the patch formats in Accept-Patch (RFC 5789 §2.2)', async (t) => {
  const app = await appWithUsers()
  app.addContentTypeParser(
    'application/merge-patch+json',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  )
  const response = await app.inject({
    method: 'PATCH',
    url: '/v1/users/1',
    headers: { 'content-type': 'application/xml' },
    payload: '<user/>',
  })

  isProblem(t, injected(response), { status: 415, code: 'unsupported-media-type' })
  t.equal(response.headers['accept-patch'], 'application/merge-patch+json, application/json')
  t.notOk('accept' in response.headers)
})

t.test('a Content-Type that is none at all is a 415', async (t) => {
  const app = await appWithUsers()
  for (const type of ['json', '/', 'application/', ';', ',', 'application/json, text/html']) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '{}' })
    isProblem(t, injected(response), { status: 415, code: 'unsupported-media-type' }, type)
  }
})

t.test('a text where the schema wants an object is a 415: it is the format that is wrong', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': 'text/plain' },
    payload: '{"name":"A"}',
  })

  isProblem(t, injected(response), {
    status: 415,
    code: 'unsupported-media-type',
    detail: /^text\/plain is not/,
  })
  t.equal(response.headers.accept, json)
})

t.test(
  'a JSON string where the schema wants an object is a validation problem: the format is right',
  async (t) => {
    const app = await appWithUsers()
    for (const type of [json, 'application/json; charset=utf-8']) {
      const headers = { 'content-type': type }
      const response = await app.inject({ method: 'POST', url: '/v1/users', headers, payload: '"text"' })
      isProblem(t, injected(response), { status: 400, code: 'validation' }, type)
    }
  },
)

t.test('no body where the schema wants one is a validation problem', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({ method: 'POST', url: '/v1/users' })

  isProblem(t, injected(response), {
    status: 400,
    code: 'validation',
    errors: [{ in: 'body', pointer: '', message: 'must be object' }],
  })
})

t.test('a body that is shorter than its Content-Length is a 400', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { 'content-type': json, 'content-length': '100' },
    payload: '{"name":"A"}',
  })

  isProblem(t, injected(response), { status: 400, code: 'request-malformed' })
})

t.test('a body that is right is not touched', async (t) => {
  const app = await appWithUsers()
  const response = await app.inject({ method: 'POST', url: '/v1/users', payload: { name: 'Ada' } })

  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.strictSame(response.json(), { name: 'Ada' })
})

async function appWithUsers(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  const body = { type: 'object', required: ['name'] }
  app.post('/v1/users', { schema: { body } }, async (request) => request.body)
  app.patch('/v1/users/:id', { schema: { body } }, async (request) => request.body)
  return app
}
