import Fastify from 'fastify'
import t from 'tap'
import conventions from '../../../src/index.js'
import { documentedErrors } from '../../../src/plugins/problems/openapi.js'

const message = { type: 'object', properties: { message: { type: 'string' } } }
const json = { content: { 'application/json': { schema: message } } }
const problem = { content: { 'application/problem+json': { schema: message } } }

t.test('errors in another format than that of problems, by media type', (t) => {
  const sentence = (statuses: string) =>
    `${statuses}: documented as application/json, and sent as application/problem+json`
  const rows: readonly (readonly [response: unknown, problems: readonly string[]])[] = [
    [{ 200: message, 400: message, 404: json, '5xx': { $ref: 'error#' } }, [sentence('400, 404, 5xx')]],
    [{ 200: message, default: json }, [sentence('default')]],
    [{ default: json }, []],
    [{ 200: json, 303: json, 400: problem }, []],
    [{ 400: { description: 'no body' }, 401: { type: 'null' }, 402: {} }, []],
    [{ 400: { content: { 'text/html': { schema: { type: 'string' } }, 'application/json': {} } } }, []],
    [undefined, []],
  ]
  for (const [response, problems] of rows) {
    t.strictSame(documentedErrors(response), problems, JSON.stringify(response))
  }
  t.end()
})

t.test('a route that documents such an error is a finding that does not stop the boot', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(conventions)
  const response = { 200: message, 400: message }
  app.get('/v1/users', { schema: { response } }, async () => ({ message: '' }))
  app.get('/v1/orders', { schema: { response }, config: { problems: false } }, async () => ({ message: '' }))
  await app.register(async (ofApp) => {
    ofApp.setErrorHandler(async () => ({ message: 'in its own format' }))
    ofApp.get('/v1/items', { schema: { response } }, async () => ({ message: '' }))
  })
  await app.ready()
  const found = app.conventions.report().findings.filter(({ rule }) => rule === 'documented')
  const told = found.map(({ route, effect }) => [route, effect])
  t.strictSame(told, [['GET /v1/users', 'none']])
})
