import swagger, { type SwaggerOptions } from '@fastify/swagger'
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import { jsonSchemaTransform, serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { Type } from 'typebox'
import { z } from 'zod'
import * as mini from 'zod/mini'
import conventions, { type ConventionsOptions, serverOptions } from '../../src/index.js'
import { Int64 as Int64OfTypeBox } from '../../src/schema/typebox.js'
import { Int64 as Int64OfZod, toJsonSchema } from '../../src/schema/zod.js'

/** A library for schemas, set up as its documentation shows, and the schemas of the routes of {@link exampleApp}. */
export interface TypeProvider {
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
export const typeProviders: readonly TypeProvider[] = [
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
export const row = { id: 9007199254740993n, name: 'Ada', updated_at: '2026-01-02T03:04:05Z', password: 'x' }

/** What the handlers of {@link exampleApp} have received. */
export type Received = Record<string, unknown>[]

/**
 * An app with routes of each kind, whose schemas are those of a library.
 *
 * @param options `null` for an app without this package
 */
export async function exampleApp(
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
