/** What a body that cannot be read is answered with. */
import Fastify from 'fastify'
import t from 'tap'
import { ProblemError, problems } from '../../src/index.js'

t.test('a 415 says which media types the context parses', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.removeContentTypeParser('text/plain')
  app.post('/', async () => 'done')
  app.patch('/', async () => 'done')
  app.addContentTypeParser('application/xml', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  )
  app.addContentTypeParser('application/merge-patch+json', (_request, _body, done) => done(null, {}))
  const headers = { 'content-type': 'text/plain' }
  for (const [method, name, types] of [
    ['POST', 'accept', 'application/json, application/xml'],
    ['PATCH', 'accept-patch', 'application/merge-patch+json, application/json, application/xml'],
  ] as const) {
    const answer = await app.inject({ method, url: '/', headers, payload: 'a' })
    t.strictSame([answer.statusCode, answer.headers[name]], [415, types], method)
  }
})

t.test('a `validation` without a list of errors stays a 400', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.post('/', async () => {
    throw new ProblemError('validation')
  })
  t.equal((await app.inject({ method: 'POST', url: '/' })).statusCode, 400)
})

t.test('in report mode, JSON that is not UTF-8 is counted as what `problems` would refuse', async (t) => {
  const app = Fastify()
  await app.register(problems, { mode: 'report' })
  app.post('/', async ({ body }) => body)
  const headers = { 'content-type': 'application/json' }
  const answer = await app.inject({
    method: 'POST',
    url: '/',
    headers,
    payload: Buffer.from('"\xff"', 'latin1'),
  })
  t.equal(answer.statusCode, 200)
  t.match(app.conventions.report().observations, [{ plugin: 'problems', rule: 'content', status: 400 }])
})
