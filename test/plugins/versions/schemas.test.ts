/** What the OpenAPI document says of versions, with the real `@fastify/swagger`. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { caching } from '../../../src/index.js'
import { type VersionsOptions, versions } from '../../../src/plugins/versions/index.js'
import { withoutReferences } from '../../support/openapi.js'

const user = { type: 'object', properties: { id: { type: 'integer' } } }
const schema = { response: { 200: user } }

/** The operations of the document, by their paths. */
async function operationsOf(options: VersionsOptions, add: (app: FastifyInstance) => void) {
  const app = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(versions, { now: () => Date.parse('2026-11-20'), ...options })
  await app.register(caching)
  add(app)
  await app.ready()
  const { paths } = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))
  return (path: string) => paths[path].get
}

t.test('a deprecated version is deprecated in the document, with its period', async (t) => {
  const lifecycle = { deprecated: '2026-01-01', sunset: '2027-01-01', link: { successor: '/v2' } }
  const operationOf = await operationsOf({ versions: { 1: lifecycle, 2: {} } }, (app) => {
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
})

t.test('the document has what there is: a deprecation, now or later, a sunset, a link', async (t) => {
  const [past, now, future] = ['2026-01-01', '2026-11-20', '2027-01-01']
  const at = (date: string) => `${date}T00:00:00.000Z`
  const rows: readonly (readonly [given: VersionsOptions, expected: object, headers: string])[] = [
    [
      { versions: { 1: { deprecated: future } } },
      { 'x-deprecation': at(future), description: `Deprecated from ${at(future)}.` },
      'Deprecation',
    ],
    [
      { versions: { 1: { deprecated: now } } },
      { deprecated: true, 'x-deprecation': at(now), description: `Deprecated since ${at(now)}.` },
      'Deprecation',
    ],
    [
      { versions: { 1: { sunset: future } } },
      { 'x-sunset': at(future), description: `Answered with 410 from ${at(future)} on.` },
      'Sunset',
    ],
    [{ versions: { 1: { link: { successor: '/v2' } } } }, {}, 'Link'],
    [{ mode: 'report', versions: { 1: { deprecated: past } } }, {}, ''],
  ]
  for (const [options, expected, header] of rows) {
    const operationOf = await operationsOf(options, (app) => app.get('/v1/users', { schema }, () => ({})))
    const { responses, parameters: _, ...operation } = operationOf('/v1/users')
    t.strictSame(operation, expected)
    const { headers } = responses['200']
    const announced = Object.keys(headers).filter((name) => /^(Deprecation|Sunset|Link)$/.test(name))
    t.equal(announced.join(), header)
    if (header !== '') t.equal(headers[header].schema.type, 'string')
    t.equal('410' in responses, header === 'Sunset')
  }
})
