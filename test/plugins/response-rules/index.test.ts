import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import t from 'tap'
import { pathGuard } from '../../../src/plugins/path-guard/index.js'
import { type ResponseRulesOptions, responseRules } from '../../../src/plugins/response-rules/index.js'
import { appOf } from '../../support/app.js'
import { unwrapped } from '../../support/report-table.js'

const object = (properties: object) => ({ type: 'object', properties })
const badUser = object({ id: { type: 'integer' }, createdAt: { type: 'string' }, tag: { type: 'array' } })
const goodUser = object({ id: { type: 'integer' } })

async function appWith(options: ResponseRulesOptions = {}): Promise<FastifyInstance> {
  const app = await appOf([responseRules, options])
  return app
}

const answering = (response: unknown): RouteShorthandOptions => ({ schema: { response } })
const nothing = async () => ({})

t.test('breaches stop the boot, all in one table, with those of other plugins', async (t) => {
  const app = await appOf(pathGuard, responseRules)
  app.get('/v1/users', answering({ 200: { type: 'array', items: goodUser } }), nothing)
  app.get('/v1/users/:id', answering({ 200: badUser }), nothing)
  app.post('/v1/users', answering({ 200: badUser, 201: badUser, 400: badUser }), nothing)
  app.get('/v1/order', answering({ '2xx': object({ data: goodUser }) }), nothing)
  const content = { 'application/json': { schema: { properties: { sex: { type: 'string' } } } } }
  app.get('/v1/people', answering({ 200: { content } }), nothing)
  const error = await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS' })
  const [summary, , , , ...lines] = unwrapped((error as Error).message).split('\n')
  t.equal(summary, '10 breaches of conventions in 5 routes')
  const rows = [
    "GET /v1/order  pathGuard.plural  'order' names a collection in the singular  /v1/orders",
    'GET /v1/order  responseRules.envelope  2xx: /data wraps the resource  the members of data at the top level, the rest in status and headers',
    'GET /v1/people  responseRules.sex  200: /sex has no enum of the biological sexes  "enum": ["male","female","intersex","unknown"]',
    'GET /v1/users  responseRules.object  200: the body is an array, not an object  { "<collection>": [...] }',
    'GET /v1/users/:id  responseRules.keys  200: /createdAt is not in snake_case  created_at',
    'GET /v1/users/:id  responseRules.dates  200: /createdAt is a time without "format": "date-time"  "format": "date-time"',
    'GET /v1/users/:id  responseRules.plural  200: /tag is a list under a singular name  tags',
    'POST /v1/users  responseRules.keys  200, 201: /createdAt is not in snake_case  created_at',
    'POST /v1/users  responseRules.dates  200, 201: /createdAt is a time without "format": "date-time"  "format": "date-time"',
    'POST /v1/users  responseRules.plural  200, 201: /tag is a list under a singular name  tags',
  ]
  const shown = lines.slice(0, lines.indexOf('')).map((line) => line.replaceAll(/ {2,}/g, '  '))
  t.strictSame(shown, rows)
})

t.test('shared schemas are read when the app gets ready, for each context', async (t) => {
  const app = await appWith({ mode: 'report' })
  app.get('/v1/users', answering({ 200: { $ref: 'user#' } }), nothing)
  await app.register(async (inner) => {
    const list = { properties: { users: { items: { $ref: 'inner#' } } } }
    inner.get('/v1/inner', answering({ 200: list }), nothing)
    inner.addSchema({ $id: 'inner', ...object({ innerKey: { type: 'string' } }) })
  })
  const friends = { type: 'array', items: { $ref: 'user#' } }
  app.addSchema({ $id: 'user', ...object({ friends, nickName: { type: 'string' } }) })
  await app.ready()
  t.same(
    app.conventions.report().findings.map(({ route, problem }) => [route, problem]),
    [
      ['GET /v1/users', '200: /nickName is not in snake_case'],
      ['GET /v1/inner', '200: /users/*/innerKey is not in snake_case'],
    ],
  )
})

t.test('a response schema of a builder, or changed by another plugin, is checked', async (t) => {
  const app = await appWith({ mode: 'report' })
  app.get('/v1/built', answering({ 200: { isFluentSchema: true, valueOf: () => badUser } }), nothing)
  app.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, response: { 200: badUser } }
  })
  app.get('/v1/users', async () => ({ createdAt: 'today' }))
  await app.ready()
  const routes = app.conventions.report().findings.map(({ route }) => route)
  t.same(routes, [...Array(3).fill('GET /v1/built'), ...Array(3).fill('GET /v1/users')])
  for (const method of ['GET', 'HEAD'] as const) await app.inject({ method, url: '/v1/users' })
  t.same(app.conventions.report().observations, [], 'the payloads of that route are not checked')
})

t.test('excluded routes are listed, with the reason', async (t) => {
  const app = await appWith()
  const foreign = { serializerCompiler: () => JSON.stringify }
  app.get('/v1/off', { ...answering({ 200: badUser }), config: { responseRules: false } }, nothing)
  app.get('/files/*', answering({ 200: badUser }), nothing)
  app.get('/v1/csv', answering({ 200: { content: { 'text/csv': { schema: { type: 'string' } } } } }), nothing)
  app.get('/v1/page', answering({ 200: { type: 'string' } }), nothing)
  app.get('/v1/zod', { ...answering({ 200: new Map() }), ...foreign }, nothing)
  app.get('/v1/lost', { ...answering({ 200: { $ref: 'absent#' } }), ...foreign }, nothing)
  await app.ready()
  const { exceptions, findings } = app.conventions.report()
  t.match(findings, [{ rule: 'schema', route: 'GET /v1/zod' }])
  t.equal(findings.length, 1)
  const reasons = [
    ['GET /v1/off', 'config.responseRules is false'],
    ['GET /files/*', 'a wildcard route: files or a proxy'],
    ['GET /v1/csv', '200: text/csv is not JSON'],
    ['GET /v1/page', '200: a string, which is sent as text'],
    ['GET /v1/zod', '200: the schema is not a JSON Schema'],
    ['GET /v1/lost', '200: $ref absent# cannot be resolved'],
  ]
  t.match(exceptions, Array(reasons.length).fill({ plugin: 'responseRules' }))
  const told = exceptions.map(({ route, reason }) => [route, reason])
  t.strictSame(told, reasons)
  t.same(exceptions[0]?.rules, ['object', 'envelope', 'keys', 'plural', 'sex', 'dates', 'delete'])
})

t.test('a DELETE that declares content stops the boot; a 202, a 204 and an exception do not', async (t) => {
  const user = { type: 'object' }
  const refused = await appWith()
  const declared = answering({ 200: user, 202: user, 203: user, 204: { type: 'null' } })
  refused.delete('/v1/users/:id', declared, nothing)
  const row =
    /^DELETE \/v1\/users\/:id +responseRules\.delete +200, 203: a DELETE returns no data +204, without content$/m
  await t.rejects(async () => refused.ready(), { message: row })
  const app = await appWith()
  const config = { responseRules: { except: ['delete' as const], reason: 'An older client reads it' } }
  app.delete('/v1/orders/:id', { ...answering({ 200: user }), config }, nothing)
  app.delete('/v1/users/:id', answering({ 202: user, 204: { type: 'null' } }), nothing)
  app.delete('/v1/tags/:id', answering({ default: user }), nothing)
  app.route({ method: ['DELETE', 'POST'], url: '/v1/carts', ...answering({ 200: user }), handler: nothing })
  await t.resolves(async () => app.ready())
})

t.test('options of the plugin reach the rules', async (t) => {
  const app = await appWith({ keyStyle: 'camelCase', words: ['tag'], unixTimes: ['_epoch', 'seenAt'] })
  const createdAt = { type: 'string', format: 'date-time' }
  const user = object({
    createdAt,
    savedOnEpoch: { type: 'integer' },
    seenAt: { type: 'integer' },
    tag: { type: 'array' },
  })
  app.get('/v1/users', answering({ 200: user }), nothing)
  await t.resolves(async () => app.ready())
})

t.test('an invalid option is refused, by its name', async (t) => {
  for (const [options, message] of [
    [{ keyStyle: 'kebab-case' }, /responseRules\.keyStyle: expected one of 'snake_case', 'camelCase'/],
    [{ words: 'tag' }, /responseRules\.words: expected an array/],
    ...['_Epoch', 'a-', '-a', ''].map(
      (name) => [{ unixTimes: [name] }, /responseRules\.unixTimes\[0\]/] as const,
    ),
  ] as const)
    await t.rejects(appWith(options as object), { message })
  const config = { responseRules: { except: ['key'], reason: 'x' } as object }
  const app = await appWith()
  t.throws(() => app.get('/v1/users', { config }, nothing), { message: /config\.responseRules\.except\[0\]/ })
})
