/** Schemas that are no JSON Schemas: what can be made of them, and what boot says where nothing can. */
import { Writable } from 'node:stream'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifySchema, type FastifyServerOptions } from 'fastify'
import { jsonSchemaTransform, serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { z } from 'zod'
import conventions, { fields, integerTwins, problems } from '../../src/index.js'
import { Int64 } from '../../src/schema/zod.js'

/** A schema of a library without JSON Schema. */
class Shape {
  readonly members: Readonly<Record<string, string>>
  constructor(members: Readonly<Record<string, string>>) {
    this.members = members
  }
}

const schema = (parts: object) => parts as FastifySchema
const user = new Shape({ id: 'int64', name: 'string' })

function appOf(t: Test, options?: FastifyServerOptions): FastifyInstance {
  const app = Fastify(options)
  t.teardown(() => app.close())
  return app
}

function shapesApp(t: Test): FastifyInstance {
  const app = appOf(t)
  app.setValidatorCompiler(() => (value) => ({ value }))
  return app.setSerializerCompiler(() => JSON.stringify)
}

function compileByZod(app: FastifyInstance): void {
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
}

async function zodApp(t: Test, options?: FastifyServerOptions): Promise<FastifyInstance> {
  const app = appOf(t, options)
  compileByZod(app)
  await app.register(conventions)
  return app
}

t.test('a route whose schemas cannot be read is one finding, and the app boots', async (t) => {
  const app = shapesApp(t)
  for (const plugin of [problems, fields, integerTwins]) await app.register(plugin as typeof fields)
  app.get('/v1/users/:id', { schema: schema({ params: user, response: { 200: user } }) }, async () => ({}))
  app.post('/v1/users', { schema: schema({ body: user }) }, async () => ({}))
  await app.ready()
  const unread = 'cannot read its schemas: no JSON Schema can be made of'
  const { findings } = app.conventions.report()
  t.strictSame(
    findings.map(({ route, problem }) => `${route}: ${problem}`),
    [
      `GET /v1/users/:id: fields, integerTwins ${unread} params, response`,
      `POST /v1/users: integerTwins ${unread} body`,
    ],
  )
  for (const one of findings) t.match(one, { rule: 'schema', mode: 'report', effect: 'none' })
  t.equal((await app.inject('/v1/users/7?fields=name')).body, '{}', 'the app serializes')
})

t.test('toJsonSchema gives the JSON Schema, once for each schema and direction', async (t) => {
  const app = shapesApp(t)
  const asked: string[] = []
  await app.register(conventions, {
    toJsonSchema(given, direction) {
      if (!(given instanceof Shape)) return undefined
      asked.push(direction)
      const properties = Object.entries(given.members).map(([name, type]) => [
        name,
        type === 'int64' ? { type: 'integer', format: 'int64' } : { type },
      ])
      return { type: 'object', properties: Object.fromEntries(properties) }
    },
  })
  const row = { id: '9007199254740993', name: 'Ada' }
  app.get('/v1/users/:id', { schema: schema({ params: user, response: { 200: user } }) }, async () => row)
  await app.ready()
  t.strictSame(app.conventions.report().findings, [])
  t.strictSame(asked.toSorted(), ['input', 'output'])
  const { body } = await app.inject('/v1/users/7')
  t.equal(body, '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada"}')
  t.equal((await app.inject('/v1/users/7?fields=name')).body, '{"name":"Ada"}')
})

t.test('toJsonSchema has to be a function', async (t) => {
  const app = appOf(t)
  const refused = { code: 'FST_CONV_OPTION_INVALID', message: /fields\.toJsonSchema/ }
  await t.rejects(async () => app.register(fields, { toJsonSchema: 'zod' as never }), refused)
})

t.test('compilers that are set after the conventions, and in one context only', async (t) => {
  const app = appOf(t)
  await app.register(conventions)
  await app.register(async (child) => {
    compileByZod(child)
    const users = z.object({ users: z.array(z.object({ id: z.int() })), total: z.int().optional() })
    const query = z.strictObject({})
    child.get(
      '/v1/users',
      { config: { lists: {} }, schema: schema({ querystring: query, response: { 200: users } }) },
      (_request, reply) => Promise.resolve(reply.list([{ id: 2 }])),
    )
  })
  app.get('/v1/tags', { config: { lists: {} } }, async (request, reply) => {
    t.equal(request.page.limit, 7)
    return reply.list([{ id: 1 }])
  })
  await app.ready()
  t.equal((await app.inject('/v1/users?limit=7')).body, '{"users":[{"id":2}]}')
  t.equal((await app.inject('/v1/tags?limit=7')).body, '{"tags":[{"id":1}]}')
})

t.test('what the serializer of the app refuses is a 500; of a BigInt the log says why', async (t) => {
  const lines: string[] = []
  const stream = new Writable({ write: (line, _encoding, done) => done(void lines.push(String(line))) })
  const app = await zodApp(t, { logger: { stream } })
  for (const [path, id, value] of [
    ['/v1/users', z.int64(), 1n],
    ['/v1/orders', Int64(), 'x'],
  ] as const) {
    app.get(path, { schema: schema({ response: { 200: z.object({ id }) } }) }, async () => ({ id: value }))
  }
  for (const url of ['/v1/users', '/v1/orders']) t.equal((await app.inject(url)).statusCode, 500)
  t.match(lines.join(''), 'the serializer of the app cannot write a BigInt: see docs/type-providers.md')
})

t.test('what Zod encodes is what fields and twins are taken from', async (t) => {
  const app = await zodApp(t)
  const date = z.codec(z.iso.datetime(), z.date(), {
    decode: (text) => new Date(text),
    encode: (value) => value.toISOString(),
  })
  const node = z.object({
    id: Int64().describe('the id'),
    at: date,
    tags: z.array(z.string()).default([]),
    kind: z.union([z.literal('a'), z.object({ id: Int64().nullable() })]),
    pair: z.tuple([z.string(), z.boolean()]),
    get parts() {
      return z.array(node)
    },
  })
  app.get('/v1/nodes/:id', { schema: schema({ response: { 200: node } }) }, async () => {
    const leaf = { id: 1n, at: new Date(0), tags: ['x'], kind: 'a', pair: ['x', true], parts: [], secret: 1 }
    return { ...leaf, id: 9007199254740993n, kind: { id: null }, parts: [leaf] }
  })
  await app.ready()
  const at = '"at":"1970-01-01T00:00:00.000Z"'
  t.equal(
    (await app.inject('/v1/nodes/7')).body,
    `{"id":9007199254740993,"id_str":"9007199254740993",${at},"tags":["x"],"kind":{"id":null,"id_str":null},"pair":["x",true],"parts":[` +
      `{"id":1,"id_str":"1",${at},"tags":["x"],"kind":"a","pair":["x",true],"parts":[]}]}`,
  )
  const selected = await app.inject('/v1/nodes/7?fields=at,parts.id')
  t.equal(selected.body, `{${at},"parts":[{"id":1,"id_str":"1"}]}`)
})

t.test('a transform for the whole document reads all routes, with compilers in one context', async (t) => {
  const app = appOf(t)
  await app.register(swagger, { openapi: {}, transform: jsonSchemaTransform })
  await app.register(conventions)
  app.get('/v1/users', async () => ({ users: [] }))
  app.register(async (zod) => {
    compileByZod(zod)
    const response = { 200: z.object({ orders: z.array(z.string()) }) }
    zod.get('/v1/orders', { schema: schema({ response }) }, async () => ({ orders: [] }))
  })
  await app.ready()
  const { paths } = app.swagger()
  for (const path of ['/v1/users', '/v1/orders']) t.ok(paths?.[path]?.get?.responses?.[500], path)
})
