/** What OpenAPI shows of paging is what runs. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import t from 'tap'
import { type ListsRouteOptions, lists, problems } from '../../../src/index.js'
import { missingMembers } from '../../../src/plugins/lists/openapi.js'
import type { SchemaObject } from '../../../src/schema/json-schema.js'
import type { Operation } from '../../../src/schema/openapi.js'
import { documentOf } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'

const name = { type: 'string' }

t.test('OpenAPI shows the parameters of a list, and Link among the headers of a success', async (t) => {
  const items = { type: 'array', items: { type: 'object' } }
  const users = { type: 'object', properties: { users: items, total: { type: 'integer' } } }
  const schema = { response: { 200: users, 404: { type: 'object' } } }
  const limits = { defaultLimit: 5, maxLimit: 9 }
  const { parameters = [], responses = {} } = await operationOf(await appWithList(schema, limits))
  const shown = parameters.map(({ name, in: place, required = false, schema }) => {
    const { type, format, minimum, default: fallback } = schema as SchemaObject
    return [`${name} ${place} ${required}`, type, format, minimum, fallback]
  })
  const none = undefined
  t.strictSame(shown, [
    ['limit query false', 'integer', none, 1, 5],
    ['before_id query false', 'integer', 'int64', 0, none],
    ['before_time query false', 'string', 'date-time', none, none],
    ['after_id query false', 'integer', 'int64', 0, none],
    ['include_total query false', 'boolean', none, none, false],
  ])
  t.match(parameters[0]?.description, /more than 9 is lowered to 9/)
  t.match(responses['200']?.headers?.Link, { description: /rel="next"/ })
  t.notOk(responses['404']?.headers)
  t.match(JSON.stringify(responses['400']), '"validation"')
  const { parameters: ofText } = await operationOf(await appWithList(schema, { idFormat: 'text' }))
  t.strictSame(ofText?.[3]?.schema, { type: 'string' })
})

t.test('parameters that the list does not support are not shown', async (t) => {
  for (const [config, names] of [
    [{ by: ['id'] }, ['limit', 'before_id', 'after_id', 'include_total']],
    [{ by: ['time'], total: false }, ['limit', 'before_id', 'before_time']],
  ] as const) {
    const { parameters } = await operationOf(await appWithList({}, config))
    const expected = names.map((name) => ({ name }))
    t.match(parameters, expected, `${names}`)
    t.equal(parameters?.length, names.length)
  }
})

t.test('missingMembers() finds members that a response schema would remove', async (t) => {
  const users = { type: 'array', items: {} }
  const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
  const shared = { list: { $id: 'list', ...object({ users }) } } as never
  const rows: readonly (readonly [response: unknown, missing: string[]])[] = [
    [undefined, []],
    [{ 404: object({}) }, []],
    [{ 200: object({ users, total: { type: 'integer' } }) }, []],
    [{ 200: object({ items: users, total: {} }) }, ['users']],
    [{ 200: users }, ['users', 'total']],
    [{ 200: object({}, { additionalProperties: true }) }, []],
    [{ 200: object({ users }, { patternProperties: { '^t': {} } }) }, []],
    [{ 200: { $ref: 'list#' } }, ['total']],
    [{ 200: { $ref: 'nothing#' } }, []],
    [{ 200: { allOf: [object({ users }), object({ total: {} })] } }, []],
    [{ 200: { content: { 'application/json': { schema: object({ users }) } } } }, ['total']],
  ]
  for (const [response, missing] of rows)
    t.strictSame(missingMembers(response, ['users', 'total'], shared), missing, JSON.stringify(response))
})

t.test('the parameters are accepted if the route forbids others, and others are not', async (t) => {
  const app = await appWithList({ querystring: { $ref: 'filter#' } })
  const query = 'name=Ada&limit=3&before_id=7&before_time=2026-01-01T00:00:00Z&include_total=true'
  for (const [asked, status] of [
    [query, 200] as const,
    ['after_id=7', 200] as const,
    ['other=1', 400] as const,
  ])
    t.equal((await app.inject(`/v1/users?${asked}`)).statusCode, status, asked)
})

t.test('a parameter that the route declares is not changed', async (t) => {
  const limit = { type: 'integer', maximum: 10, description: 'a few' }
  const app = await appWithList({ querystring: { type: 'object', properties: { limit } } })
  const shown = (await operationOf(app)).parameters?.find((one) => one.name === 'limit')
  t.match(shown, { schema: { maximum: 10 }, description: 'a few' })
  const errors = [{ in: 'query', name: 'limit', message: 'must be <= 10' }]
  isProblem(t, injected(await app.inject('/v1/users?limit=11')), { status: 400, code: 'validation', errors })
})

async function appWithList(schema: FastifySchema, config: ListsRouteOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ ajv: { customOptions: { removeAdditional: false } } })
  await app.register(swagger, { openapi: { info: { title: 'Users', version: '1.0.0' } } })
  await app.register(problems)
  await app.register(lists)
  app.addSchema({ $id: 'filter', type: 'object', additionalProperties: false, properties: { name } })
  app.get('/v1/users', { schema, config: { lists: config } }, async (_request, reply) => reply.list([]))
  await app.ready()
  return app
}

async function operationOf(app: FastifyInstance): Promise<Operation> {
  return (await documentOf(app)).paths?.['/v1/users']?.get ?? {}
}

t.test('a route that pages by offset is found, in any style, unless config.lists is false', async (t) => {
  const integer = { type: 'integer' }
  const table: ReadonlyArray<readonly [names: readonly string[], problem: string | null]> = [
    [['limit', 'offset'], 'pages by offset: offset'],
    [['page', 'per_page'], 'pages by offset: page'],
    [['pageNumber', 'pageSize'], 'pages by offset: pageNumber'],
    [['skip', 'take'], 'pages by offset: skip'],
    [['limit', 'before_id'], null],
    [['page_size', 'homepage', 'utc_offset'], null],
  ]
  for (const [names, problem] of table) {
    for (const form of ['querystring', 'query', '$ref'] as const) {
      const app = Fastify()
      await app.register(lists, { mode: 'report' })
      const query = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, integer])) }
      app.addSchema({ $id: 'query', ...query })
      const schema = form === '$ref' ? { querystring: { $ref: 'query#' } } : { [form]: query }
      app.get('/v1/users', { schema }, async () => ({}))
      app.post('/v1/users', { schema }, async () => ({}))
      app.get('/v1/orders', { schema, config: { lists: false } }, async () => ({}))
      await app.ready()
      const found = app.conventions.report().findings.map((finding) => [finding.route, finding.problem])
      t.strictSame(found, problem === null ? [] : [['GET /v1/users', problem]], `${names} ${form}`)
    }
  }
})
