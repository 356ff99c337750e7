// Own process: it is slow
/** The OpenAPI document keeps the recommended rules of Redocly and Spectral, in OpenAPI 3.0 and 3.1. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import { migrate } from '../../examples/demo-server/migrations.js'
import conventions from '../../src/index.js'
import { emptyEmbeddedDatabase } from '../demo/databases.js'
import { issuer } from '../demo/issuer.js'
import { importCheck, skipWithoutChecks } from '../support/checks.js'

const user = {
  $id: 'user',
  title: 'user',
  type: 'object',
  required: ['id', 'name', 'friend_id'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string' },
    friend_id: { type: ['integer', 'null'], format: 'int64' },
  },
}

const params = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer', format: 'int64', minimum: 0, description: 'Its id' } },
}

async function documentIn(openapi: string): Promise<string> {
  const app = Fastify()
  await app.register(conventions, { formats: {}, identify: () => 1 })
  const info = { title: 'Users', version: '1.0.0' }
  await app.register(swagger, {
    openapi: { openapi, info, servers: [{ url: 'https://api.test' }], security: [] },
  })
  app.addSchema(user)
  app.operations.define('users.check', async () => {})
  const item = { $ref: 'user#' }
  const about = (operationId: string) => ({ operationId, summary: operationId, tags: ['users'] })
  const ofItem = (operationId: string) => ({ ...about(operationId), params, response: { 200: item } })
  const handler = async () => ({})
  const validators = () => ({ version: 7 })
  const list = { type: 'object', required: ['users'], properties: { users: { type: 'array', items: item } } }
  const properties = { ...list.properties, total: { type: 'integer' } }
  const ofList = { ...about('listUsers'), response: { 200: { ...list, properties } } }
  app.get('/v1/users', { schema: ofList, config: { lists: {}, formats: ['csv'] } }, async (_, reply) =>
    reply.list([]),
  )
  const selected = { fields: { default: ['id'] }, formats: ['xml'] as const }
  app.get('/v1/users/:id', { schema: ofItem('readUser'), config: selected }, handler)
  const required = { caching: { validators, preconditions: 'required' as const } }
  app.put('/v1/users/:id', { schema: { ...ofItem('replaceUser'), body: item }, config: required }, handler)
  const starting = {
    schema: { ...about('checkUser'), params },
    config: { operations: { starts: 'users.check' } },
  }
  app.post('/v1/users/:id/check', starting, async (_, reply) => reply.startOperation('users.check', {}))
  await app.ready()
  const document = JSON.stringify(app.swagger())
  await app.close()
  return document
}

async function documentOfDemo(openApiVersion: '3.0.3' | '3.1.0'): Promise<string> {
  const database = await emptyEmbeddedDatabase()
  await migrate(database)
  const { options: bearer } = await issuer()
  const app = await buildApp({ database, bearer, openApiVersion })
  await app.ready()
  const document = JSON.stringify(app.swagger())
  await app.close()
  return document
}

const skip = skipWithoutChecks()
const versions = ['3.0.3', '3.1.0'] as const
const documents = { 'each convention': documentIn, 'the demo': documentOfDemo }

for (const [name, documentOf] of Object.entries(documents)) {
  for (const version of versions) {
    await t.test(`the document of ${name} in OpenAPI ${version}`, { skip }, async (t) => {
      const source = await documentOf(version)
      t.equal((JSON.parse(source) as { readonly openapi: string }).openapi, version)
      const { Spectral } =
        await importCheck<typeof import('@stoplight/spectral-core')>('@stoplight/spectral-core')
      const { oas } = await importCheck<typeof import('@stoplight/spectral-rulesets')>(
        '@stoplight/spectral-rulesets',
      )
      const spectral = new Spectral()
      spectral.setRuleset(oas as never)
      const ofSpectral = await spectral.run(JSON.parse(source) as Record<string, unknown>)
      const errors = ofSpectral.filter(({ severity }) => severity === 0)
      t.strictSame(errors, [], 'Spectral')
      const { createConfig, lintFromString } =
        await importCheck<typeof import('@redocly/openapi-core')>('@redocly/openapi-core')
      const config = await createConfig({ extends: ['recommended'] })
      const ofRedocly = await lintFromString({ source, absoluteRef: '/openapi.json', config })
      const problems = ofRedocly.filter(({ severity }) => severity === 'error')
      t.strictSame(problems, [], 'Redocly')
    })
  }
}
