/** Each cell of the table in docs/type-providers.md. */
import { readFileSync } from 'node:fs'
import swagger, { type SwaggerOptions } from '@fastify/swagger'
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import { jsonSchemaTransform, serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { z } from 'zod'
import * as mini from 'zod/mini'
import conventions, { type ConventionsOptions, serverOptions } from '../../src/index.js'
import { Int64 as Int64OfTypeBox } from '../../src/schema/typebox.js'
import { Int64 as Int64OfZod, toJsonSchema } from '../../src/schema/zod.js'
import { documentOf } from '../support/openapi.js'

/** A library for schemas, set up as its documentation shows, and the schemas of the routes of {@link exampleApp}. */
interface TypeProvider {
  /** The name in the table of docs/type-providers.md. */
  readonly name: string
  readonly setUp: (app: FastifyInstance) => void
  readonly swagger: SwaggerOptions
  readonly options: ConventionsOptions
  /** `search` refuses other parameters if the library can; `badUser` has a key that is not in snake_case. */
  readonly schemas: Readonly<Record<'id' | 'user' | 'users' | 'created' | 'search' | 'badUser', unknown>>
}

const openapi = { openapi: { openapi: '3.0.3', info: { title: 'users', version: '1.0.0' } } } as const

const int64 = { type: 'integer', format: 'int64' } as const
const name = { type: 'string' } as const
const userMembers = { id: int64, name, updated_at: { type: 'string', format: 'date-time' } } as const
const user = { type: 'object', required: ['id', 'name', 'updated_at'], properties: userMembers } as const

const jsonSchemas: TypeProvider['schemas'] = {
  id: { type: 'object', required: ['id'], properties: { id: int64 } },
  user,
  users: {
    type: 'object',
    required: ['users'],
    properties: { users: { type: 'array', items: user }, total: { type: 'integer' } },
  },
  created: { type: 'object', required: ['id', 'name'], properties: { id: int64, name } },
  search: { type: 'object', additionalProperties: false, properties: { name } },
  badUser: { type: 'object', properties: { firstName: { type: 'string' } } },
}

const UserOfTypeBox = Type.Object({
  id: Int64OfTypeBox(),
  name: Type.String(),
  updated_at: Type.String({ format: 'date-time' }),
})

const typeBoxSchemas: TypeProvider['schemas'] = {
  id: Type.Object({ id: Int64OfTypeBox() }),
  user: UserOfTypeBox,
  users: Type.Object({ users: Type.Array(UserOfTypeBox), total: Type.Optional(Type.Integer()) }),
  created: Type.Object({ id: Int64OfTypeBox(), name: Type.String() }),
  search: Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: false }),
  badUser: Type.Object({ firstName: Type.String() }),
}

const UserOfZod = z.object({ id: Int64OfZod(), name: z.string(), updated_at: z.iso.datetime() })

const zodSchemas: TypeProvider['schemas'] = {
  id: z.object({ id: Int64OfZod() }),
  user: UserOfZod,
  users: z.object({ users: z.array(UserOfZod), total: z.int().optional() }),
  created: z.object({ id: Int64OfZod(), name: z.string() }),
  search: z.strictObject({ name: z.string().optional() }),
  badUser: z.object({ firstName: z.string() }),
}

const UserOfMini = mini.object({ id: Int64OfZod(), name: mini.string(), updated_at: mini.iso.datetime() })

const miniSchemas: TypeProvider['schemas'] = {
  id: mini.object({ id: Int64OfZod() }),
  user: UserOfMini,
  users: mini.object({ users: mini.array(UserOfMini), total: mini.optional(mini.int()) }),
  created: mini.object({ id: Int64OfZod(), name: mini.string() }),
  search: mini.strictObject({ name: mini.optional(mini.string()) }),
  badUser: mini.object({ firstName: mini.string() }),
}

function compileByZod(app: FastifyInstance): void {
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
}

const ofZod = { setUp: compileByZod, swagger: { ...openapi, transform: jsonSchemaTransform } }
const ofFastify = { setUp: () => {}, swagger: openapi, options: {} }

/** The type providers of the table, in its order. */
const typeProviders: readonly TypeProvider[] = [
  { name: 'Zod 4', ...ofZod, options: {}, schemas: zodSchemas },
  { name: 'zod/mini', ...ofZod, options: { toJsonSchema }, schemas: miniSchemas },
  { name: 'TypeBox, Ajv', ...ofFastify, schemas: typeBoxSchemas },
  {
    name: 'TypeBox, its compiler',
    ...ofFastify,
    setUp: (app) => void app.setValidatorCompiler(TypeBoxValidatorCompiler),
    schemas: typeBoxSchemas,
  },
  { name: 'json-schema-to-ts', ...ofFastify, schemas: jsonSchemas },
]

/** A row as a database driver gives it, with a column that no schema names. */
const row = { id: 9007199254740993n, name: 'Ada', updated_at: '2026-01-02T03:04:05Z', password: 'x' }

/** What the handlers of {@link exampleApp} have received. */
type Received = Record<string, unknown>[]

/** What of a provider a cell looks at: an app with the preset, and what its handlers have received in this cell. */
interface Running {
  readonly provider: TypeProvider
  readonly app: FastifyInstance
  readonly received: Received
}

const digits = '9007199254740993'
const json = { 'content-type': 'application/json' }

const cells: Readonly<Record<string, (t: Test, running: Running) => Promise<void>>> = {
  'The preset boots, without findings': async (t, { app }) => {
    t.strictSame(app.conventions.report().findings, [])
  },
  'Paging parameters of `lists`': async (t, { app, received }) => {
    const page = await app.inject(`/v1/users?limit=10&before_id=${digits}9999&name=Ada`)
    t.equal(page.statusCode, 400, 'an id beyond int64')
    t.match(page.json(), { code: 'validation', errors: [{ name: 'before_id' }] })
    const list = await app.inject('/v1/users?limit=10&include_total=false&name=Ada')
    t.equal(list.statusCode, 200, list.body)
    t.match(received, [{ query: { name: 'Ada' } }], 'the schema of the route validates the other parameters')
  },
  'Selection by `fields`': async (t, { app }) => {
    t.equal((await app.inject('/v1/users/7?fields=name')).body, '{"name":"Ada"}')
    const list = `{"users":[{"id":${digits},"id_str":"${digits}"}]}`
    t.equal((await app.inject('/v1/users?fields=id')).body, list)
    const unknown = await app.inject('/v1/users/7?fields=password')
    t.equal(unknown.statusCode, 400)
    t.match(unknown.json(), { code: 'fields-invalid' })
  },
  'Hidden fields': async (t, { app }) => {
    const shown = await app.inject('/v1/users/7/profiles')
    t.strictSame(Object.keys(shown.json()), ['id', 'id_str', 'updated_at'])
    t.equal((await app.inject('/v1/users/7/profiles?fields=name')).statusCode, 400)
  },
  'Twins in responses': async (t, { app }) => {
    const { body } = await app.inject('/v1/users/7')
    t.equal(body, `{"id":${digits},"id_str":"${digits}","name":"Ada","updated_at":"${row.updated_at}"}`)
    t.match((await app.inject('/v1/users')).body, `{"users":[{"id":${digits},"id_str":"${digits}"`)
  },
  'Exact integers in requests': async (t, { app, received }) => {
    const post = (payload: string) => app.inject({ method: 'POST', url: '/v1/users', headers: json, payload })
    const statuses = [
      await app.inject(`/v1/users/${digits}`),
      await post(`{"id":${digits},"name":"x"}`),
      await post(`{"id_str":"${digits}","name":"x"}`),
      await post('{"id":7,"name":"x"}'),
    ].map((response) => response.statusCode)
    t.strictSame(statuses, [200, 201, 201, 201])
    t.match(
      received,
      [digits, digits, digits, 7].map((id) => ({ id: BigInt(id) })),
    )
    const refused = await post('{"id":"seven","name":"x"}')
    t.equal(refused.statusCode, 400)
    t.match(refused.json(), { code: 'validation', errors: [{ in: 'body', pointer: '/id' }] })
  },
  'Response rules': async (t, { provider }) => {
    const app = await exampleApp(provider)
    t.teardown(() => app.close())
    const schema = { response: { 200: provider.schemas.badUser } }
    app.get('/v1/persons', { schema }, async () => ({ firstName: 'Ada' }))
    const message = /GET \/v1\/persons .*firstName/
    await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS', message })
  },
  'Caching and preconditions': async (t, { app }) => {
    const { headers } = await app.inject('/v1/users/7')
    t.equal(headers['last-modified'], 'Fri, 02 Jan 2026 03:04:05 GMT')
    const again = await app.inject({ url: '/v1/users/7', headers: { 'if-none-match': String(headers.etag) } })
    t.equal(again.statusCode, 304)
  },
  'Operations: their routes and their inputs': async (t, { app, received }) => {
    const start = (payload: string) =>
      app.inject({ method: 'POST', url: '/v1/users/import', headers: { ...json, prefer: 'wait=5' }, payload })
    t.equal((await start('{"name":"x"}')).statusCode, 200)
    t.strictSame(received, [{ id: BigInt(digits), name: 'x' }])
    t.match((await start('{}')).json(), { code: 'validation', errors: [{ pointer: '/name' }] })
    const list = await app.inject('/v1/operations')
    t.match(list.json(), { operations: [{ status: 'Succeeded' }] })
    const [{ id }] = list.json<{ operations: [{ id: string }] }>().operations
    t.match((await app.inject(`/v1/operations/${id}`)).json(), { id, status: 'Succeeded' })
  },
  'Formats: XML': async (t, { app }) => {
    const { body } = await app.inject({ url: '/v1/users/7', headers: { accept: 'application/xml' } })
    t.match(body, `<user><id>${digits}</id><id_str>${digits}</id_str><name>Ada</name>`)
  },
  'The OpenAPI document': async (t, { app }) => {
    const { paths = {} } = await documentOf(app)
    const { get: list, post: create } = paths['/v1/users'] ?? {}
    const names = list?.parameters?.map((parameter) => parameter.name) ?? []
    const cursors = ['limit', 'before_id', 'before_time', 'after_id', 'include_total']
    const conditions = ['If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Unmodified-Since']
    t.strictSame([...names].sort(), ['fields', ...cursors, 'name', ...conditions].sort())
    const listed = list?.responses?.[200]
    t.ok(listed?.headers?.Link)
    const id = '"id":{"type":"integer","format":"int64"},"id_str":{"type":"string"'
    t.match(JSON.stringify(listed?.content), id)
    t.match(JSON.stringify(create?.requestBody), '"id_str"')
    t.ok(paths['/v1/users/import']?.post?.responses?.[202])
    t.ok(paths['/v1/operations/{id}']?.get?.responses?.[303])
    t.notMatch(JSON.stringify(paths), /_zod|~standard/)
  },
  'In `report` mode nothing changes': async (t, { provider }) => {
    const bare = await exampleApp(provider, null)
    const app = await exampleApp(provider, { mode: 'report', operations: false })
    t.teardown(() => Promise.all([bare.close(), app.close()]))
    for (const request of [
      { url: '/v1/users?limit=3' },
      { url: '/v1/users/7?fields=name' },
      { method: 'POST', url: '/v1/users', payload: { id: 7, name: 'x' } },
      { method: 'POST', url: '/v1/users', payload: { id: 'x' } },
    ] as const) {
      const [before, after] = [await bare.inject(request), await app.inject(request)]
      t.equal(after.body, before.body, JSON.stringify(request))
      t.strictSame({ ...after.headers, date: '' }, { ...before.headers, date: '' })
    }
  },
}

for (const provider of typeProviders) {
  t.test(provider.name, async (t) => {
    const received: Received = []
    const app = await exampleApp(provider, {}, received)
    t.teardown(() => app.close())
    await app.ready()
    for (const [name, cell] of Object.entries(cells)) {
      received.length = 0
      await t.test(name, (t) => cell(t, { provider, app, received }))
    }
  })
}

t.test('the table in docs/type-providers.md has these rows and columns', async (t) => {
  const page = readFileSync(new URL('../../docs/type-providers.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| '))
  const [head = [], ...body] = rows.map((line) => line.slice(2, -2).split(' | '))
  const columns = typeProviders.map(({ name }) => name)
  t.strictSame(head.slice(1, 1 + columns.length), columns)
  const named = body.map(([name]) => name).filter((name) => name !== undefined && name in cells)
  t.strictSame(named, Object.keys(cells))
})

/**
 * An app with routes of each kind, whose schemas are those of a library.
 *
 * @param options `null` for an app without this package
 */
async function exampleApp(
  provider: TypeProvider,
  options: ConventionsOptions | null = {},
  received: Received = [],
): Promise<FastifyInstance> {
  const { schemas } = provider
  const app = Fastify({ ...serverOptions() })
  provider.setUp(app)
  await app.register(swagger, provider.swagger)
  if (options !== null) {
    const always = { identify: () => 'ada', formats: {} }
    await app.register(conventions, { ...always, ...provider.options, ...options })
  }
  const isReport = options === null || options.mode === 'report'
  const given = isReport ? { ...row, id: 7 } : row
  const schemaOf = (schema: Record<string, unknown>) => schema as FastifySchema
  app.get('/v1/users', {
    config: isReport ? {} : { lists: {} },
    schema: schemaOf({ querystring: schemas.search, response: { 200: schemas.users } }),
    handler: async (request, reply) => {
      received.push({ query: request.query })
      return isReport ? { users: [given] } : reply.list([given])
    },
  })
  app.get('/v1/users/:id', {
    config: { formats: ['xml'], ...(isReport ? {} : { pathGuard: { params: 'any' as const } }) },
    schema: schemaOf({ params: schemas.id, response: { 200: schemas.user } }),
    handler: async (request) => {
      received.push(request.params as Record<string, unknown>)
      return given
    },
  })
  app.get('/v1/users/:id/profiles', {
    config: isReport ? {} : { fields: { hidden: { name: true as const } } },
    schema: schemaOf({ params: schemas.id, response: { 200: schemas.user } }),
    handler: async () => given,
  })
  app.post('/v1/users', {
    schema: schemaOf({ body: schemas.created, response: { 201: schemas.user } }),
    handler: async (request, reply) => {
      received.push(request.body as Record<string, unknown>)
      return reply.code(201).send(given)
    },
  })
  if (options !== null && options.operations !== false) {
    app.operations.define('users.import', { input: schemas.created as object }, async ({ input }) => {
      received.push(input as Record<string, unknown>)
    })
    app.post('/v1/users/import', {
      config: { operations: { starts: 'users.import' } },
      handler: async (request, reply) =>
        reply.startOperation('users.import', { id: row.id, ...(request.body as object) }),
    })
  }
  return app
}
