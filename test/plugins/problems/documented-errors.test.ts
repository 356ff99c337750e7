import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { problems } from '../../../src/index.js'
import { documentedErrors } from '../../../src/plugins/problems/openapi.js'
import { withoutReferences } from '../../support/openapi.js'

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
    [{ 413: problem, default: json }, []],
    [{ 200: json, 204: json, 303: json, 400: problem }, []],
    [{ 400: { description: 'no body' }, 401: { type: 'null' }, 402: {} }, []],
    [{ 400: { content: { 'text/html': { schema: { type: 'string' } }, 'application/json': {} } } }, []],
    [{ 200: message, 400: true }, [sentence('400')]],
    [undefined, []],
  ]
  for (const [response, problems] of rows) {
    t.strictSame(documentedErrors(response), problems, JSON.stringify(response))
  }
  t.end()
})

t.test('a route that documents such an error is a finding that does not stop the boot', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  const schema = { response: { 200: message, 400: message } }
  const handler = async () => ({ message: '' })
  app.get('/v1/users', { schema }, handler)
  app.get('/v1/orders', { schema, config: { problems: false } }, handler)
  app.get('/v1/items', { schema, errorHandler: async () => ({ message: 'in its own format' }) }, handler)
  await app.ready()
  const found = app.conventions.report().findings.filter(({ rule }) => rule === 'documented')
  const told = found.map(({ route, effect }) => [route, effect])
  t.strictSame(told, [['GET /v1/users', 'none']])
})

t.test('OpenAPI shows the errors that a route may answer with, and what a 415 tells', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(problems, { codes: { funds: 402 } })
  const schema = { response: { 200: { type: 'object' } } }
  const handler = () => ({})
  const taken = { problems: { codes: { taken: 409 } } }
  app.get('/v1/users', { schema }, handler)
  app.get('/v1/texts/:id', { schema: { querystring: { type: 'object' } } }, handler)
  app.route({ method: ['GET', 'POST'], url: '/v1/both', schema, handler })
  const validated = { ...schema, body: { type: 'object' } }
  app.patch('/v1/users/:id', { schema: validated, config: taken, handlerTimeout: 9 }, handler)
  await app.ready()
  const { paths } = withoutReferences(app.swagger()) as unknown as { paths: Paths }
  const shown = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => {
      const fields = Object.entries(responses[415]?.headers ?? {})
      const names = fields.flatMap(([name, { schema }]) => (schema.type === 'string' ? name : []))
      const times = JSON.stringify(responses).includes('handler-timeout')
      return [`${method} ${path}`, Object.keys(responses).join(), names.join(), times]
    }),
  )
  t.notMatch(JSON.stringify(paths), '"anyOf"', 'with `codes`, there are no other ones')
  const [ofBody, ofPatch] = ['200,400,402,406,413,415,500,503', '200,400,402,404,406,409,413,414,415,500,503']
  t.strictSame(shown, [
    ['get /v1/users', '200,402,406,500,503', '', false],
    ['get /v1/texts/{id}', '200,400,402,404,414,500,503', '', false],
    ['get /v1/both', ofBody, 'Accept-Encoding,Accept', false],
    ['post /v1/both', ofBody, 'Accept-Encoding,Accept', false],
    ['patch /v1/users/{id}', ofPatch, 'Accept-Encoding,Accept-Patch', true],
  ])
})

type Response = {
  readonly headers?: Readonly<Record<string, { readonly schema: { readonly type: string } }>>
}
type Paths = Record<string, Record<string, { readonly responses: Readonly<Record<string, Response>> }>>
