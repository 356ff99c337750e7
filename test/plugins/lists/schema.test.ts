import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import t from 'tap'
import { type ListsRouteOptions, lists, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

/** A parameter in an OpenAPI document. */
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Readonly<Record<string, unknown>>
}

const name = { type: 'string' }
const names = ['limit', 'before_id', 'before_time', 'after_id', 'include_total']

t.test('OpenAPI shows the parameters of a list', async (t) => {
  const app = await appWithList({})
  const { parameters } = documentOf(app)

  t.strictSame(
    parameters.map((parameter) => parameter.name),
    names,
  )
  const schemas = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.schema]))
  t.match(schemas, {
    limit: { type: 'integer', minimum: 1, default: 50 },
    before_id: { type: 'integer', format: 'int64' },
    before_time: { type: 'string', format: 'date-time' },
    after_id: { type: 'integer', format: 'int64' },
    include_total: { type: 'boolean', default: false },
  })
  for (const parameter of parameters) {
    t.equal(parameter.in, 'query', parameter.name)
    t.equal(parameter.required ?? false, false, `${parameter.name} can be left out`)
    t.match(parameter.description, /./, `${parameter.name} is described`)
  }
})

t.test('OpenAPI follows the options of the route', async (t) => {
  const app = await appWithList({}, { defaultLimit: 5, maxLimit: 9, idFormat: 'text' })
  const schemas = Object.fromEntries(documentOf(app).parameters.map((one) => [one.name, one]))

  t.match(schemas.limit, { schema: { default: 5 }, description: /more than 9 is lowered to 9/ })
  t.match(schemas.before_id, { schema: { type: 'string' } })
})

t.test('the parameters are added to those of the route, in querystring or in query', async (t) => {
  const own = { type: 'object', required: ['name'], properties: { name } }
  for (const schema of [{ querystring: own }, { query: own } as FastifySchema]) {
    const app = await appWithList(schema)
    const { parameters } = documentOf(app)

    t.strictSame(parameters.map((one) => one.name).toSorted(), [...names, 'name'].toSorted())
    t.equal(parameters.find((one) => one.name === 'name')?.required, true)
    t.equal((await app.inject('/v1/users?name=Ada&limit=3&before_id=7')).statusCode, 200)
    const errors = [{ in: 'query', name: 'name', message: 'is required' }]
    isProblem(t, injected(await app.inject('/v1/users?limit=3')), { status: 400, code: 'validation', errors })
  }
  t.strictSame(
    own,
    { type: 'object', required: ['name'], properties: { name } },
    'the schema given is not touched',
  )
})

t.test('the parameters are accepted if the route forbids other parameters', async (t) => {
  for (const removeAdditional of [true, false]) {
    const querystring = { type: 'object', additionalProperties: false, properties: { name } }
    const app = await appWithList({ querystring }, {}, removeAdditional)
    const query = 'name=Ada&limit=3&before_id=7&before_time=2026-01-01T00:00:00Z&include_total=true'
    t.equal((await app.inject(`/v1/users?${query}`)).statusCode, 200, `removeAdditional: ${removeAdditional}`)
    t.equal(
      (await app.inject('/v1/users?after_id=7')).statusCode,
      200,
      `removeAdditional: ${removeAdditional}`,
    )
    const other = await app.inject('/v1/users?other=1')
    t.equal(other.statusCode, removeAdditional ? 200 : 400, 'others stay as forbidden as they were')
  }
})

t.test('a parameter that the route declares is not changed', async (t) => {
  const limit = { type: 'integer', maximum: 10, description: 'a few' }
  const app = await appWithList({ querystring: { type: 'object', properties: { limit } } })

  t.match(
    documentOf(app).parameters.find((one) => one.name === 'limit'),
    { schema: { maximum: 10 }, description: 'a few' },
  )
  const errors = [{ in: 'query', name: 'limit', message: 'must be <= 10' }]
  isProblem(t, injected(await app.inject('/v1/users?limit=11')), { status: 400, code: 'validation', errors })
})

t.test('a query schema by $ref that forbids other parameters accepts them too', async (t) => {
  const app = Fastify()
  const shared = { $id: 'filter', type: 'object', additionalProperties: false, properties: { name } }
  app.addSchema(shared)
  await app.register(problems)
  await app.register(lists)
  const schema = { querystring: { $ref: 'filter#' } }
  app.get('/v1/users', { config: { lists: {} }, schema }, async ({ page, query }) => ({
    limit: page.limit,
    query,
  }))

  t.strictSame((await app.inject('/v1/users?limit=3&name=Ada')).json(), { limit: 3, query: { name: 'Ada' } })
})

t.test('a query schema of another validator is not changed', async (t) => {
  class OtherSchema {
    readonly kind = 'other'
  }
  const querystring = new OtherSchema()
  const app = Fastify()
  app.setValidatorCompiler(({ schema }) => {
    t.equal(schema, querystring)
    return () => true
  })
  await app.register(lists)
  app.get('/v1/users', { config: { lists: {} }, schema: { querystring } }, async ({ page }) => ({
    limit: page.limit,
  }))

  t.strictSame((await app.inject('/v1/users?limit=3')).json(), { limit: 3 })
})

t.test(
  'with a validator of the app, the page is read, and the parameters are removed before it',
  async (t) => {
    const app = Fastify()
    const validated: unknown[] = []
    app.setValidatorCompiler(() => (query: unknown) => {
      validated.push({ ...(query as object) })
      return { value: query }
    })
    await app.register(problems)
    await app.register(lists)
    const querystring = { type: 'object', additionalProperties: false, properties: { name } }
    app.get('/v1/users', { config: { lists: {} }, schema: { querystring } }, async ({ page }) => ({
      limit: page.limit,
    }))
    t.strictSame((await app.inject('/v1/users?limit=3&name=Ada')).json(), { limit: 3 })
    t.strictSame(validated, [{ name: 'Ada' }])
    t.equal((await app.inject('/v1/users?limit=-1')).statusCode, 400)
  },
)

t.test('OpenAPI shows Link among the headers of a success', async (t) => {
  const items = { type: 'array', items: { type: 'object' } }
  const users = { type: 'object', properties: { users: items, total: { type: 'integer' } } }
  const app = await appWithList({ response: { 200: users, 404: { type: 'object' } } })
  const { responses } = documentOf(app)

  t.match(responses['200']?.headers?.Link, { description: /rel="next"/ })
  t.notOk(responses['404']?.headers)
})

t.test('the schema of a route that is not a list is not changed', async (t) => {
  const app = Fastify()
  await app.register(lists)
  const schema = { querystring: { type: 'object', properties: { name } } }
  app.addHook('onRoute', (route) => void t.equal(route.schema, schema))
  app.get('/v1/plain', { schema }, async () => ({}))
  app.get('/v1/off', { schema, config: { lists: false } }, async () => ({}))
  await app.ready()
})

async function appWithList(
  schema: FastifySchema,
  config: ListsRouteOptions = {},
  removeAdditional = true,
): Promise<FastifyInstance> {
  const app = Fastify({ ajv: { customOptions: { removeAdditional } } })
  await app.register(swagger, { openapi: { info: { title: 'Users', version: '1.0.0' } } })
  await app.register(problems)
  await app.register(lists)
  app.get('/v1/users', { schema, config: { lists: config } }, async (_request, reply) => reply.list([]))
  await app.ready()
  return app
}

interface Operation {
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>
}

function documentOf(app: FastifyInstance): Operation {
  const document = app.swagger() as unknown as { paths: Record<string, { get: Operation }> }
  const operation = document.paths['/v1/users']?.get
  if (operation === undefined) throw new Error('the document has no such path')
  return operation
}

t.test('a route that pages by offset is found, in any style, unless config.lists is false', async (t) => {
  const integer = { type: 'integer' }
  const table: ReadonlyArray<readonly [names: readonly string[], problem: string | null]> = [
    [['limit', 'offset'], 'pages by offset: offset'],
    [['page', 'per_page'], 'pages by offset: page'],
    [['pageNumber', 'pageSize'], 'pages by offset: pageNumber'],
    [['start_index'], 'pages by offset: start_index'],
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

t.test('a route that pages by offset stops the boot', async (t) => {
  const app = Fastify()
  await app.register(lists)
  const schema = { querystring: { type: 'object', properties: { offset: { type: 'integer' } } } }
  app.get('/v1/users', { schema }, async () => ({}))
  await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS', message: /lists\.offset/ })
})

t.test('a finding about a route at `/` below a prefix has its path without a slash', async (t) => {
  const app = Fastify()
  await app.register(lists, { mode: 'report' })
  const query = { type: 'object', properties: { offset: { type: 'integer' } } }
  const response = { 200: { type: 'object', properties: { users: { type: 'array' } } } }
  app.register(async (users) => void users.get('/', { schema: { querystring: query } }, async () => ({})), {
    prefix: '/v1/users',
  })
  app.register(
    async (orders) =>
      void orders.get('/', { schema: { response }, config: { lists: true } }, async () => ({})),
    { prefix: '/v1/orders' },
  )
  await app.ready()
  t.strictSame(
    [...new Set(app.conventions.report().findings.map(({ route, rule }) => `${rule} ${route}`))],
    ['offset GET /v1/users', 'schema GET /v1/orders'],
  )
})
