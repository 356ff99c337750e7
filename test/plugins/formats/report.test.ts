/** With `report` no response changes by a byte, and what would change is counted. */
import Fastify from 'fastify'
import t from 'tap'
import { formats } from '../../../src/index.js'
import { User } from './service.js'

const strict = { type: 'object', properties: { q: { type: 'string' } }, additionalProperties: false }

t.test('requests that would get another format, or a 406, are counted', async (t) => {
  const app = Fastify()
  await app.register(formats, { mode: 'report' })
  const schema = { querystring: strict, response: { 200: { type: 'array', items: User } } }
  app.get('/v1/users', { schema, config: { formats: ['xml', 'csv'] } }, async () => [{ id: 1 }])
  app.get('/v1/roles', { config: { formats: ['xml'] } }, async () => ({ id: 1 }))
  for (const [method, url, accept] of [
    ['GET', '/v1/users'],
    ['GET', '/v1/users?format=csv'],
    ['GET', '/v1/roles?format=xml'],
    ['HEAD', '/v1/roles?format=xml'],
    ['GET', '/v1/roles?format=pdf'],
    ['GET', '/v1/roles', 'application/xml'],
    ['GET', '/v1/roles', 'image/png'],
  ] as const) {
    const { headers } = await app.inject({ method, url, headers: { accept: accept ?? '*/*' } })
    t.match(headers['content-type'], /^application\/json/, `${url} ${accept}`)
  }
  const { observations } = app.conventions.report()
  t.strictSame(
    observations.map(({ rule, route, effect, count, example }) => [rule, route, effect, count, example]),
    [
      ['csv', 'GET /v1/users', 'changed', 1, 'the response would be text/csv'],
      ['xml', 'GET /v1/roles', 'changed', 3, 'the response would be application/xml'],
      ['not-acceptable', 'GET /v1/roles', 'refused', 2, 'none of application/json, application/xml'],
    ],
  )
})
