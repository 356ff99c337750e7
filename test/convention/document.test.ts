/** The OpenAPI document is completed after @fastify/swagger has made it of the schemas as the app wrote them. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'
import { conventions, fields, formats, integerTwins, lists, problems } from '../../src/index.js'
import { appOf } from '../support/app.js'
import { withoutReferences } from '../support/openapi.js'

type Content = Readonly<Record<string, { readonly schema: object }>>
type Operation = { readonly responses: Record<string, { content?: Content }> }
interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const info = { title: 'users', version: '1' }
const user = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string' } },
}
const documentOf = (app: FastifyInstance) => withoutReferences(app.swagger()) as unknown as Document

t.test('an operation is found by the path that @fastify/swagger writes', async (t) => {
  const app = Fastify()
  const variables = { host: { default: 'api.test' }, base: { default: 'api' } }
  const servers = [{ url: 'https://{host}/{base}', variables }, { url: '/' }]
  await app.register(swagger, { openapi: { info, servers }, exposeHeadRoutes: true })
  await app.register(problems)
  const paths = {
    '/api/users': '/users',
    '/users/:id(^\\d+$)/:part': '/users/{id}/{part}',
    '/files/*': '/files/{*}',
    '/users::check': '/users:check',
    '/at/:near-:far': '/at/{near}-{far}',
  }
  for (const url of Object.keys(paths)) app.get(url, async () => ({}))
  app.get('/hidden', { schema: { hide: true } as object }, async () => ({}))
  app.route({ method: ['PUT', 'POST'], url: '/both', handler: async () => ({}) })
  await app.ready()
  const document = documentOf(app)
  for (const path of Object.values(paths))
    for (const method of ['get', 'head']) t.ok(document.paths[path]?.[method]?.responses['500'], path)
  for (const method of ['put', 'post']) t.ok(document.paths['/both']?.[method]?.responses['500'], method)
  t.notOk(document.paths['/hidden'])
})

t.test('of routes that differ in constraints, the document has the last one', async (t) => {
  const app = await appOf([swagger, { openapi: { info } }], problems)
  const hosts: Record<string, Record<string, number>> = {
    'a.example': { first: 409 },
    'b.example': { last: 410 },
  }
  for (const [host, codes] of Object.entries(hosts))
    app.get('/users', { constraints: { host }, config: { problems: { codes } } }, async () => ({}))
  await app.ready()
  const { responses } = documentOf(app).paths['/users']?.get ?? {}
  t.match(responses, { 410: {} })
  t.notOk(responses?.['409'])
})

t.test('the schemas of a route stay as the app wrote them', async (t) => {
  const app = await appOf([swagger, { openapi: { info } }])
  for (const plugin of [problems, lists, fields, integerTwins, formats])
    await app.register(plugin as FastifyPluginAsync)
  app.addSchema({ $id: 'user', ...user })
  const list = { type: 'object', properties: { users: { type: 'array', items: { $ref: 'user#' } } } }
  const querystring = { type: 'object', additionalProperties: false, properties: {} }
  const schema = { querystring, response: { 200: list } }
  const before = JSON.stringify(schema)
  const routes: unknown[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  const config = { lists: { total: false }, formats: ['csv'] as const }
  app.get('/v1/users', { schema, config }, async (_request, reply) => reply.list([]))
  await app.ready()
  app.swagger()
  t.equal((routes[0] as { readonly schema: unknown }).schema, schema)
  t.equal(JSON.stringify(schema), before)
  t.same(app.getSchema('user'), { $id: 'user', ...user })
})

t.test('the document is the same in whichever order the conventions are registered', async (t) => {
  const plugins = [lists, fields, integerTwins, formats] as readonly FastifyPluginAsync[]
  const documents = []
  for (const sorted of [plugins, plugins.toReversed()]) {
    const app = await appOf([swagger, { openapi: { info } }])
    for (const plugin of sorted) await app.register(plugin)
    app.addSchema({ $id: 'user', title: 'User', ...user })
    const schema = { response: { 200: { $ref: 'user#' } } }
    app.get('/v1/users/:id', { schema, config: { formats: ['xml'] } }, async () => ({}))
    app.post('/v1/users', { schema }, async () => ({}))
    await app.ready()
    const { paths, components } = documentOf(app)
    t.match(components.schemas.User, { required: ['id'], properties: { id_str: { type: 'string' } } })
    const { content } = paths['/v1/users/{id}']?.get?.responses['200'] ?? {}
    t.match(content?.['application/xml']?.schema, { properties: { id_str: {} }, xml: { name: 'User' } })
    t.match(paths['/v1/users']?.post?.responses['200']?.content?.['application/json']?.schema, {
      allOf: [{ $ref: '#/components/schemas/User' }, { required: ['id_str'] }],
    })
    documents.push(paths)
  }
  const contentsOf = (paths: Document['paths'] = {}) =>
    Object.values(paths['/v1/users/{id}']?.get?.responses ?? {}).map(({ content }) => content)
  t.same(contentsOf(documents[0]), contentsOf(documents[1]))
})

t.test('a schema of the app that is named Problem stays', async (t) => {
  const app = Fastify()
  const refResolver = { buildLocalReference: (schema: { $id?: unknown }) => String(schema.$id) }
  await app.register(swagger, { openapi: { info }, refResolver })
  await app.register(problems)
  const own = { type: 'object', properties: { mine: { type: 'boolean' } } }
  app.addSchema({ $id: 'Problem', ...own })
  app.get('/v1/users', async () => ({}))
  await app.ready()
  const { paths, components } = documentOf(app)
  t.match(components.schemas, { Problem: own, Problem2: { properties: { code: {} } } })
  const { content } = paths['/v1/users']?.get?.responses['500'] ?? {}
  const allOf = [{ $ref: '#/components/schemas/Problem2' }]
  t.match(content?.['application/problem+json']?.schema, { allOf })
})

t.test('schemas that @fastify/swagger has numbered get their titles as names', async (t) => {
  const app = Fastify()
  const components = { schemas: { Pet: { type: 'object' as const } } }
  const since = new Date(0)
  await app.register(swagger, { openapi: { info: Object.assign({ 'x-since': since }, info), components } })
  await app.register(problems)
  const member = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } })
  app.addSchema({ $id: 'pet', title: 'Pet', ...member('of_title') })
  app.addSchema({ $id: 'https://example.com/a-pet', ...member('of_id') })
  app.addSchema({ $id: 'owner', ...member('pet'), properties: { pet: { $ref: 'pet#' } } })
  const schema = { response: { 200: { type: 'array', items: { $ref: 'owner#' } } } }
  app.get('/v1/owners', { schema }, async () => [])
  await app.ready()
  const document = documentOf(app)
  const { schemas } = document.components
  t.strictSame(Object.keys(schemas), ['Pet', 'Pet2', 'https-example.com-a-pet', 'owner', 'Problem'])
  t.match(schemas.Pet2, { properties: { of_title: {} } })
  t.match(app.swagger(), { info: { 'x-since': since } })
  t.match(schemas.owner, { properties: { pet: { $ref: '#/components/schemas/Pet2' } } })
  t.match(document.paths['/v1/owners']?.get?.responses['200']?.content?.['application/json']?.schema, {
    items: { $ref: '#/components/schemas/owner' },
  })
})

t.test('documents of contexts, and YAML, are completed too; Swagger 2 is not', async (t) => {
  const hidden = { schema: { hide: true } as object }
  const app = await appOf(problems)
  await app.register(
    async (api) => {
      await api.register(swagger, { openapi: { info } })
      api.get('/users', async () => ({}))
      api.get('/openapi.yaml', hidden, async () => api.swagger({ yaml: true }))
      api.get('/openapi.json', hidden, async () => api.swagger())
    },
    { prefix: '/v1' },
  )
  await app.register(async (old) => {
    await old.register(swagger, { swagger: { info } })
    old.get('/old', async () => ({}))
    old.get('/swagger.json', hidden, async () => old.swagger())
  })
  const json = await app.inject('/v1/openapi.json')
  t.ok(json.json<Document>().paths['/v1/users']?.get?.responses['500'])
  const yaml = (await app.inject('/v1/openapi.yaml')).body
  t.match(yaml, /^openapi: "3\.0\.3"\ninfo:\n {2}title: "users"\n/)
  t.match(yaml, '\n  "/v1/users":\n    get:\n      responses:\n')
  t.match(yaml, '"application/problem+json":')
  t.match(yaml, /\n {6}required:\n {8}- "type"\n/)
  const old = (await app.inject('/swagger.json')).json<Document>()
  t.strictSame(Object.keys(old.paths['/old']?.get?.responses ?? {}), ['200'])
})

t.test('a document under another decorator than app.swagger() is a finding', async (t) => {
  for (const decorator of ['swagger', 'openapi'] as const) {
    const app = await appOf([swagger, { openapi: { info }, decorator: decorator as 'swagger' }], problems)
    app.get('/v1/users', async () => ({}))
    await app.ready()
    const { findings } = app.conventions.report()
    const found = findings.map(({ plugin, rule, effect }) => [plugin, rule, effect])
    t.strictSame(found, decorator === 'swagger' ? [] : [['conventions', 'document', 'none']], decorator)
  }
})

t.test('in report mode the document is the one of @fastify/swagger, in JSON and in YAML', async (t) => {
  const documents = async (mode?: 'report') => {
    const app = await appOf([swagger, { openapi: { info } }])
    if (mode !== undefined) await app.register(conventions, { mode })
    app.post('/v1/users', { schema: { body: { ...user, type: ['object', 'null'] } } }, async () => ({}))
    await app.ready()
    t.strictSame(app.getSchemas(), {})
    return [JSON.stringify(app.swagger()), app.swagger({ yaml: true })]
  }
  t.strictSame(await documents('report'), await documents())
})
