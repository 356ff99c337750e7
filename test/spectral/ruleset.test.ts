/** The ruleset of Spectral finds in a document what the boot finds in the app. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { type ConventionsOptions } from '../../src/index.js'
import { openApiPath } from '../../src/spectral/document-routes.js'
import { conventionsRuleset } from '../../src/spectral/index.js'
import { importCheck, skipWithoutChecks } from '../support/checks.js'

const skip = skipWithoutChecks()

/** Returns what Spectral finds, a line for each. */
async function linted(document: object, options?: ConventionsOptions): Promise<string[]> {
  const { Spectral } =
    await importCheck<typeof import('@stoplight/spectral-core')>('@stoplight/spectral-core')
  const spectral = new Spectral()
  spectral.setRuleset(conventionsRuleset(options) as never)
  const results = await spectral.run(document as Record<string, unknown>)
  return results
    .map(({ code, message, path: [, path, method] }) => {
      return `${code} ${String(method).toUpperCase()} ${path}: ${message}`
    })
    .sort()
}

const object = (properties: object) => ({ type: 'object', properties })
const text = { type: 'string' }
const params = object({ id: { type: 'integer' } })

/** Each route breaks a rule. */
const badRoutes: readonly (readonly [method: 'GET' | 'POST', path: string, schema: object])[] = [
  ['GET', '/v1/Users', {}],
  ['GET', '/v1/user_groups', {}],
  ['GET', '/v1/stra%C3%9Fen', {}],
  ['GET', '/v1/user/:id', { params }],
  ['GET', '/v1/users/list', {}],
  ['GET', '/v1/users/get/:id', { params }],
  ['GET', '/orders/:id', { params }],
  ['GET', '/v1/orders/:id/cancel', { params }],
  ['POST', '/v1/cancel/orders', {}],
  ['GET', '/v1/payments/', {}],
  ['GET', '/v2/payments/:id/list_all/:line', { params: object({ id: text, line: text }) }],
  ['GET', '/v1/invoices', { response: { 200: { type: 'array', items: text } } }],
  ['GET', '/v1/bills', { response: { 200: object({ data: { type: 'array', items: text }, status: text }) } }],
  [
    'GET',
    '/v1/cards',
    { response: { '2xx': object({ card: { type: 'array', items: { $ref: 'card#' } } }) } },
  ],
  ['GET', '/v1/people', { response: { 200: { $ref: 'person#' }, 201: { $ref: 'person#' } } }],
  [
    'GET',
    '/v1/events',
    { response: { 200: { $ref: 'event#/properties/next' }, default: object({ ok: text }) } },
  ],
  ['GET', '/v1/news', { querystring: object({ page: { type: 'integer' }, offset: { type: 'integer' } }) }],
  ['GET', '/v1/errors', { response: { 200: object({ id: text }), 400: object({ message: text }) } }],
  ['POST', '/v1/faults', { response: { 404: object({ error: text }), '5xx': object({ error: text }) } }],
]

const shared = [
  { $id: 'card', ...object({ holderName: text, expires_at: text }) },
  { $id: 'person', ...object({ sex: { type: 'string', enum: ['m', 'w'] }, friend: { $ref: 'person#' } }) },
  { $id: 'event', ...object({ next: object({ start_time: { type: 'integer' } }) }) },
]

const options: ConventionsOptions = { versions: { versions: { 1: {} } }, mode: 'report' }

for (const openapi of ['3.0.3', '3.1.0']) {
  t.test(`the same findings at boot and by Spectral, in OpenAPI ${openapi}`, { skip }, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(conventions, options)
    await app.register(swagger, {
      openapi: { openapi, info: { title: 't', version: '1' } },
      refResolver: {
        buildLocalReference: ({ $id }, _base, _fragment, index) => String($id ?? `def-${index}`),
      },
    })
    for (const schema of shared) app.addSchema(schema)
    for (const [method, url, schema] of badRoutes)
      app.route({ method, url, schema, handler: async () => ({}) })
    await app.ready()

    const { rules } = conventionsRuleset(options)
    const atBoot = app.conventions
      .report()
      .findings.filter(({ plugin, rule }) => `${plugin}.${rule}` in rules)
      .map(({ plugin, rule, route, problem, instead }) => {
        const shown = plugin === 'pathGuard' ? openApiPath : (given: string) => given
        return `${plugin}.${rule} ${openApiPath(route)}: ${shown(problem)}; write instead: ${shown(instead)}`
      })
    t.strictSame(await linted(app.swagger(), options), atBoot.sort())
    const broken = new Set(atBoot.map((line) => line.split(' ', 1)[0]))
    t.strictSame([...broken].sort(), Object.keys(rules).sort(), 'each rule is broken')
  })
}

const list = { content: { 'application/json': { schema: { type: 'array' } } } }

t.test(
  'parameters, responses and paths behind references, and the path of the servers',
  { skip },
  async (t) => {
    const document = {
      openapi: '3.0.3',
      servers: [{ url: 'https://api.test/v1/' }, { url: '/v1' }],
      paths: {
        '/users': {
          parameters: [{ $ref: '#/components/parameters/page' }],
          get: { responses: { 200: { $ref: '#/components/responses/list' } } },
          summary: 'Users',
        },
        '/files/{*}': { get: { responses: { 200: list } } },
      },
      components: { parameters: { page: { name: 'page', in: 'query' } }, responses: { list } },
    }
    t.strictSame(await linted(document), [
      'lists.offset GET /users: pages by offset: page; write instead: config.lists: {}, which pages by key: limit, before_id, after_id',
      'responseRules.object GET /users: 200: the body is an array, not an object; write instead: { "<collection>": [...] }',
    ])
    const { servers: _, ...withoutServers } = document
    t.match((await linted(withoutServers)).at(-1), /^responseRules/)
    t.match((await linted(withoutServers))[1], 'pathGuard.version GET /users: has no major version in front')
  },
)

t.test('a document of several files is read with its references resolved', async (t) => {
  const schema = { type: 'array', items: { $ref: '#/components/schemas/item' } }
  const find = conventionsRuleset().rules['responseRules.object']?.then.function
  const pathItem = (given: object) => ({
    get: { responses: { 200: { content: { 'application/json': { schema: given } } } } },
  })
  const document = { openapi: '3.1.0', paths: { '/v1/users': pathItem({ $ref: './users.json' }) } }
  const resolved = { ...document, paths: { '/v1/users': pathItem(schema) } }
  const context = { documentInventory: { resolved } }
  t.match(find?.(document, null, context), [{ message: /an array/, path: ['paths', '/v1/users', 'get'] }])
  t.strictSame(find?.('no document', null, context), [])
})

t.test(
  'the options of the preset: modes, exceptions, and conventions that are left out',
  { skip },
  async (t) => {
    const paths = { '/v1/user_groups': { get: {} }, '/v1/user_groups/{id}': { get: {} } }
    const document = { openapi: '3.1.0', paths }
    t.equal((await linted(document)).length, 2)
    const url = '/v1/user_groups/:id'
    const except = { url, reason: 'an old client' }
    t.equal((await linted(document, { exceptions: [except] })).length, 1)
    t.equal((await linted(document, { exceptions: [{ ...except, except: ['lists'] }] })).length, 2)
    t.equal((await linted(document, { exceptions: [{ ...except, url: '/v1/*' }] })).length, 0)
    const exceptions = [{ ...except, except: ['underscore'] as const }]
    t.equal((await linted(document, { pathGuard: { exceptions } })).length, 1)
    t.equal((await linted(document, { pathGuard: { rules: { underscore: 'off' } } })).length, 0)
    t.equal((await linted(document, { pathGuard: false })).length, 0)
    const { rules } = conventionsRuleset({ mode: 'report', pathGuard: { rules: { plural: 'enforce' } } })
    t.equal(rules['pathGuard.plural']?.severity, 'error')
    t.equal(rules['pathGuard.slash']?.severity, 'warn')
    t.strictSame(Object.keys(conventionsRuleset({ mode: 'off' }).rules), [])
    t.throws(() => conventionsRuleset({ pathGuard: { verb: [] } as never }), {
      code: 'FST_CONV_OPTION_UNKNOWN',
    })
  },
)

t.test('what is no OpenAPI 3 document has no findings', { skip }, async (t) => {
  const paths = { '/Users': { get: {} } }
  for (const document of [{ swagger: '2.0', paths }, { openapi: '3.1.0' }, { openapi: '3.1.0', paths: [] }])
    t.strictSame(await linted(document), [], JSON.stringify(document))
})
