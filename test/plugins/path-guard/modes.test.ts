import Fastify from 'fastify'
import t from 'tap'
import { type PathGuardOptions, type PathGuardRouteOptions, pathGuard } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const nothing = async (): Promise<object> => ({})

/** What the mode does about `GET /v1/Users`: it stops the boot, it is a finding and each request is counted, or nothing. */
type Outcome = 'enforced' | 'reported' | 'unseen'

const report = { mode: 'report' } as const
const off = { mode: 'off' } as const

type OfRoute = PathGuardRouteOptions | false | undefined
type Row = readonly [plugin: PathGuardOptions, route: OfRoute, expected: Outcome]

const exceptions = [{ url: '/v1/*', except: ['uppercase'], reason: 'published so' }] as const

const table: readonly Row[] = [
  [{}, undefined, 'enforced'],
  [report, undefined, 'reported'],
  [{ ...report, rules: { uppercase: 'enforce' } }, undefined, 'enforced'],
  [{ rules: { uppercase: 'off' } }, { mode: 'enforce' }, 'enforced'],
  [{}, { ...off, rules: { uppercase: 'report' } }, 'reported'],
  [{}, false, 'unseen'],
  [{}, { except: ['uppercase'], reason: 'published so', rules: { uppercase: 'enforce' } }, 'unseen'],
  [{}, { except: ['plural'], reason: 'published so' }, 'enforced'],
  [{ exceptions }, undefined, 'unseen'],
]

t.test('the most specific mode wins: exception, rule of the route, route, rule, plugin', async (t) => {
  for (const [plugin, route, expected] of table)
    t.strictSame(await outcome(plugin, route), expected, JSON.stringify({ plugin, route }))
})

t.test('wildcard, WebSocket and hidden routes are not checked, and listed with the reason', async (t) => {
  const hidden = 'hidden from the OpenAPI document: not part of the API'
  const left: readonly (readonly [url: string, options: object, reason: string])[] = [
    ['/Files/*', {}, 'a wildcard route: files or a proxy'],
    ['/Socket', { websocket: true }, 'a WebSocket route'],
    ['/Docs_page', { schema: { hide: true } }, hidden],
    ['/get_User', { config: { pathGuard: false } }, 'config.pathGuard is false'],
  ]
  for (const [url, options, reason] of left) {
    const app = Fastify()
    await app.register(pathGuard)
    app.get(url, options, nothing)
    await app.ready()
    const { findings, exceptions } = app.conventions.report()
    t.strictSame(findings, [], url)
    t.match(exceptions, [{ route: `GET ${url}`, reason }], url)
    t.strictSame([exceptions.length, exceptions[0]?.rules.length], [1, 8], `${url}: all rules`)
  }
})

t.test('without the plugin problems, a refusal is a problem document too, and logged', async (t) => {
  const { logger, lines } = keepLogs('info')
  const app = Fastify({ logger })
  await app.register(pathGuard)
  const document = isProblem(t, injected(await app.inject('/Nothing')), {
    status: 404,
    code: 'path-uppercase',
  })
  const line = lines.find(({ msg }) => msg === 'A path is lowercase: /nothing')
  t.equal(line?.level, levels.info)
  t.equal(document.instance, `urn:request:${line?.reqId}`)
  t.match((await app.inject('/nothing')).json(), { statusCode: 404 }, 'the other errors are Fastify’s')
})

t.test('on a path that no route serves, the mode of the rule applies', async (t) => {
  const cases: ReadonlyArray<readonly [options: PathGuardOptions, code: string | undefined]> = [
    [{}, 'path-uppercase'],
    [report, undefined],
    [{ rules: { uppercase: 'off' } }, undefined],
    [{ ...report, rules: { uppercase: 'enforce' } }, 'path-uppercase'],
  ]
  for (const [options, code] of cases) {
    const app = Fastify()
    await app.register(pathGuard, options)
    const response = await app.inject('/Nothing')
    t.equal(response.statusCode, 404)
    t.equal(response.json().code, code, JSON.stringify(options))
  }
})

t.test('a request that the app refuses anyway is not counted among those that would be lost', async (t) => {
  const app = Fastify()
  await app.register(pathGuard, report)
  app.get('/v1/users/:id', async (request, reply) => {
    const { id } = request.params as { id: string }
    if (id === 'Known') return {}
    return reply.code(id === 'Hidden' ? 403 : 404).send({})
  })
  app.setNotFoundHandler((request, reply) => {
    reply.code(request.url.startsWith('/Pages/') ? 200 : 404).send('a page')
  })
  const users = ['/v1/users/Known', '/v1/users/Known', '/v1/users/Hidden']
  for (const url of [...users, '/Admin.php', '/WP/x', '/Pages/Home']) await app.inject(url)
  const { observations } = app.conventions.report()
  t.strictSame(
    observations.map((one) => [one.route, one.effect, one.status, one.count, one.example]),
    [
      ['GET /v1/users/:id', 'refused', 404, 2, '/v1/users/Known'],
      ['GET /v1/users/:id', 'changed', undefined, 1, '/v1/users/Hidden: 403 anyway'],
      ['*', 'changed', undefined, 2, '/Admin.php: 404 anyway'],
      ['*', 'refused', 404, 1, '/Pages/Home'],
    ],
  )
})

t.test('an invalid option is named, with what was expected and received', async (t) => {
  const cases: ReadonlyArray<readonly [options: object, message: string]> = [
    [{ statusCode: 301 }, 'statusCode: expected one of 404, 400, received 301'],
    [{ basePath: '/api/' }, "basePath: expected '' or a path such as '/api', received '/api/'"],
    [{ verbs: [''] }, "verbs[0]: expected a non-empty string, received ''"],
  ]
  for (const [options, message] of cases) {
    const register = async () => Fastify().register(pathGuard, options as PathGuardOptions)
    await t.rejects(register, { code: 'FST_CONV_OPTION_INVALID', message: `pathGuard.${message}` })
  }
  const app = Fastify()
  await app.register(pathGuard)
  const config = { pathGuard: { params: 'all' } as unknown as PathGuardRouteOptions }
  const expected = "config.pathGuard.params: expected one of 'lowercase', 'any', received 'all'"
  t.throws(() => app.get('/v1/user/:id', { config }, nothing), { message: `GET /v1/user/:id ${expected}` })
})

async function outcome(plugin: PathGuardOptions, route: OfRoute): Promise<Outcome | object> {
  const app = Fastify()
  await app.register(pathGuard, plugin)
  app.get('/v1/Users', route === undefined ? {} : { config: { pathGuard: route } }, nothing)
  const boots = await app.ready().then(
    () => true,
    () => false,
  )
  if (!boots) return 'enforced'
  const { statusCode } = await app.inject('/v1/Users')
  const { findings, observations } = app.conventions.report()
  const counts = [statusCode, findings.length, observations.length].join()
  return counts === '200,1,1' ? 'reported' : counts === '200,0,0' ? 'unseen' : { counts }
}
