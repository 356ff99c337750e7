/** What the OpenAPI document says of versions, with the real `@fastify/swagger`. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { caching } from '../../../src/index.js'
import { type VersionsOptions, versions } from '../../../src/plugins/versions/index.js'
import { withoutReferences } from '../../support/openapi.js'

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const schema = { response: { 200: user } }

interface Operation {
  readonly deprecated?: boolean
  readonly description?: string
  readonly 'x-deprecation'?: string
  readonly 'x-sunset'?: string
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

async function documentOf(options: VersionsOptions, add: (app: FastifyInstance) => void) {
  const app = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(versions, { now: () => Date.parse('2026-11-20'), ...options })
  await app.register(caching)
  add(app)
  await app.ready()
  const document = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))
  const operationOf = (path: string): Operation => document.paths[path].get
  return { app, operationOf }
}

t.test('a deprecated version is deprecated in the document, with its period', async (t) => {
  const lifecycle = { deprecated: '2026-01-01', sunset: '2027-01-01', link: { successor: '/v2' } }
  const { app, operationOf } = await documentOf({ versions: { 1: lifecycle, 2: {} } }, (app) => {
    app.get('/v1/users', { schema: { ...schema, description: 'All users.' } }, () => ({}))
    app.get('/v1/bare', () => ({}))
    app.get('/v2/users', { schema }, () => ({}))
    app.get('/v1/kept', { schema, config: { versions: false } }, () => ({}))
  })
  const users = operationOf('/v1/users')
  t.match(users, {
    deprecated: true,
    'x-deprecation': '2026-01-01T00:00:00.000Z',
    'x-sunset': '2027-01-01T00:00:00.000Z',
    description:
      'All users.\n\nDeprecated since 2026-01-01T00:00:00.000Z, answered with 410 from 2027-01-01T00:00:00.000Z on. Its successor: /v2',
  })
  t.strictSame(Object.keys(users.responses).sort(), ['200', '304', '410', '412'])
  t.ok(['Deprecation', 'Sunset', 'ETag'].every((name) => name in (users.responses['200']?.headers ?? {})))
  t.equal(operationOf('/v1/bare').deprecated, true, 'a route without a schema')
  for (const path of ['/v2/users', '/v1/kept']) {
    t.notOk('deprecated' in operationOf(path) || 'x-sunset' in operationOf(path), path)
    t.notOk('410' in operationOf(path).responses, path)
  }
  t.equal((await app.inject('/v1/users')).statusCode, 200, 'nothing of it is needed to answer')
})

t.test('a future deprecation is announced, and the operation is not deprecated yet', async (t) => {
  const { operationOf } = await documentOf({ versions: { 1: { deprecated: '2027-01-01' } } }, (app) =>
    app.get('/v1/users', { schema }, () => ({})),
  )
  const { deprecated, description, responses } = operationOf('/v1/users')
  t.equal(deprecated, undefined)
  t.equal(description, 'Deprecated from 2027-01-01T00:00:00.000Z.')
  t.strictSame(Object.keys(responses).sort(), ['200', '304', '412'])
})

t.test('from the second of its deprecation, an operation is deprecated', async (t) => {
  const { operationOf } = await documentOf({ versions: { 1: { deprecated: '2026-11-20' } } }, (app) =>
    app.get('/v1/users', { schema }, () => ({})),
  )
  t.match(operationOf('/v1/users'), {
    deprecated: true,
    description: 'Deprecated since 2026-11-20T00:00:00.000Z.',
  })
})

t.test('in report mode the document does not change', async (t) => {
  const { operationOf } = await documentOf(
    { mode: 'report', versions: { 1: { deprecated: '2026-01-01' } } },
    (app) => app.get('/v1/users', { schema }, () => ({})),
  )
  t.notOk('deprecated' in operationOf('/v1/users') || 'description' in operationOf('/v1/users'))
})
