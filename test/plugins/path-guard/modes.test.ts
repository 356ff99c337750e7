import Fastify from 'fastify'
import t from 'tap'
import { type PathGuardOptions, type PathGuardRouteOptions, pathGuard } from '../../../src/index.js'

const nothing = async (): Promise<object> => ({})

async function guarded(options: PathGuardOptions) {
  const app = Fastify()
  await app.register(pathGuard, options)
  return app
}

t.test('wildcard, WebSocket and hidden routes are not checked, and listed with the reason', async (t) => {
  const app = await guarded({})
  app.get('/Files/*', nothing)
  app.get('/Socket', { websocket: true } as object, nothing)
  app.get('/Docs_page', { schema: { hide: true } as object }, nothing)
  app.get('/get_User', { config: { pathGuard: false } }, nothing)
  app.get('/v1/Users', { config: { pathGuard: { except: ['uppercase'], reason: 'published so' } } }, nothing)
  await app.ready()
  const { findings, exceptions } = app.conventions.report()
  t.strictSame(findings, [])
  const told = exceptions.map(({ route, reason, rules }) => [route, reason, rules.length])
  t.strictSame(told, [
    ['GET /Files/*', 'a wildcard route: files or a proxy', 8],
    ['GET /Socket', 'a WebSocket route', 8],
    ['GET /Docs_page', 'hidden from the OpenAPI document: not part of the API', 8],
    ['GET /get_User', 'config.pathGuard is false', 8],
    ['GET /v1/Users', 'published so', 1],
  ])
  for (const url of ['/Files/A', '/Socket', '/Docs_page', '/get_User', '/v1/Users'])
    t.equal((await app.inject(url)).statusCode, 200, `${url} is served`)
})

t.test('on a path that no route serves, the mode of the rule applies', async (t) => {
  const cases: ReadonlyArray<readonly [options: PathGuardOptions, code: string | undefined]> = [
    [{}, 'path-uppercase'],
    [{ mode: 'report' }, undefined],
    [{ rules: { uppercase: 'off' } }, undefined],
    [{ mode: 'report', rules: { uppercase: 'enforce' } }, 'path-uppercase'],
  ]
  for (const [options, code] of cases) {
    const response = await (await guarded(options)).inject('/Nothing')
    t.equal(response.statusCode, 404)
    t.equal(response.json().code, code, JSON.stringify(options))
  }
})

t.test('a request that the app refuses anyway is not counted among those that would be lost', async (t) => {
  const app = await guarded({ mode: 'report' })
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
    await t.rejects(guarded(options), { code: 'FST_CONV_OPTION_INVALID', message: `pathGuard.${message}` })
  }
  const app = await guarded({})
  const config = { pathGuard: { params: 'all' } as unknown as PathGuardRouteOptions }
  const expected = "config.pathGuard.params: expected one of 'lowercase', 'any', received 'all'"
  t.throws(() => app.get('/v1/user/:id', { config }, nothing), { message: `GET /v1/user/:id ${expected}` })
})
