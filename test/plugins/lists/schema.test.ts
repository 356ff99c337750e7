import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifySchema } from 'fastify'
import t from 'tap'
import { type ListsRouteOptions, lists, problems } from '../../../src/index.js'
import { withoutReferences } from '../../support/openapi.js'
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

t.test('OpenAPI shows the parameters of a list, and Link among the headers of a success', async (t) => {
  const items = { type: 'array', items: { type: 'object' } }
  const users = { type: 'object', properties: { users: items, total: { type: 'integer' } } }
  const app = await appWithList(
    { response: { 200: users, 404: { type: 'object' } } },
    { defaultLimit: 5, maxLimit: 9 },
  )
  const { parameters, responses } = documentOf(app)
  t.strictSame(
    parameters.map(({ name, in: place, required = false }) => `${name} ${place} ${required}`),
    names.map((name) => `${name} query false`),
  )
  t.match(parameters[0], { schema: { default: 5 }, description: /more than 9 is lowered to 9/ })
  t.match(responses['200']?.headers?.Link, { description: /rel="next"/ })
  t.notOk(responses['404']?.headers)
  t.match(JSON.stringify(responses['400']), '"validation"')
})

t.test('the parameters are accepted if the route forbids other parameters', async (t) => {
  const strict = { type: 'object', additionalProperties: false, properties: { name } }
  for (const [querystring, removeAdditional] of [
    [strict, true],
    [strict, false],
    [{ $ref: 'filter#' }, false],
  ] as const) {
    const app = await appWithList({ querystring }, {}, removeAdditional)
    const query = 'name=Ada&limit=3&before_id=7&before_time=2026-01-01T00:00:00Z&include_total=true'
    for (const [asked, status] of [
      [query, 200],
      ['after_id=7', 200],
      // Others stay as forbidden as they were.
      ['other=1', removeAdditional ? 200 : 400],
    ] as const)
      t.equal((await app.inject(`/v1/users?${asked}`)).statusCode, status, `${removeAdditional}: ${asked}`)
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

t.test('a validator of the app gets its own schema, and no parameters of the page', async (t) => {
  class OtherSchema {
    readonly kind = 'other'
  }
  for (const querystring of [new OtherSchema(), { type: 'object', properties: { name } }]) {
    const app = Fastify()
    const validated: unknown[] = []
    app.setValidatorCompiler(({ schema }) => {
      if (querystring instanceof OtherSchema) t.equal(schema, querystring)
      return (query: unknown) => {
        validated.push({ ...(query as object) })
        return { value: query }
      }
    })
    await app.register(problems)
    await app.register(lists)
    const handler = async ({ page: { limit } }: FastifyRequest) => ({ limit })
    app.get('/v1/users', { config: { lists: {} }, schema: { querystring } }, handler)
    t.strictSame((await app.inject('/v1/users?limit=3&name=Ada')).json(), { limit: 3 })
    t.strictSame(validated, [{ name: 'Ada' }])
    t.equal((await app.inject('/v1/users?limit=-1')).statusCode, 400)
  }
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
  app.addSchema({ $id: 'filter', type: 'object', additionalProperties: false, properties: { name } })
  app.get('/v1/users', { schema, config: { lists: config } }, async (_request, reply) => reply.list([]))
  await app.ready()
  return app
}

interface Operation {
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>
}

function documentOf(app: FastifyInstance): Operation {
  const { paths } = withoutReferences(app.swagger()) as unknown as {
    paths: { '/v1/users': { get: Operation } }
  }
  return paths['/v1/users'].get
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
