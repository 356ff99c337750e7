/** The identity of callers: one option of the preset, and what plugins take without it. */
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionsOptions } from '../../src/index.js'
import { testIssuer } from '../../src/testing/index.js'

type Caller = Readonly<Record<string, string>>

const byHeader = ({ headers }: FastifyRequest) => (headers['x-user'] as string | undefined) ?? null

async function service(options: ConventionsOptions) {
  const app = Fastify()
  await app.register(conventions, { integerTwins: false, ...options })
  app.get('/v1/users/:id', async ({ params }) => params as object)
  app.operations.define('work', async () => {})
  app.post('/v1/works', async (_request, reply) => reply.startOperation('work'))
  return app
}

/** Checks that ada is the caller of her own record and her operations, and eve is not. */
async function isAda(t: Test, app: FastifyInstance, ada: Caller, eve: Caller): Promise<void> {
  t.same((await app.inject({ url: '/v1/users/me', headers: ada })).json(), { id: 'ada' })
  const { headers } = await app.inject({ method: 'POST', url: '/v1/works', headers: ada })
  const url = `${headers.location}/status`
  t.equal((await app.inject({ url, headers: ada })).statusCode, 200)
  t.equal((await app.inject({ url, headers: eve })).statusCode, 404)
  t.same((await app.inject({ url: '/v1/operations', headers: eve })).json().operations, [])
  t.same(app.conventions.report().findings, [])
}

t.test('identify is that of selfAlias and operations, unless they have their own', async (t) => {
  const app = await service({ identify: byHeader, selfAlias: { collections: ['users'] } })
  const [ada, eve] = [{ 'x-user': 'ada' }, { 'x-user': 'eve' }]
  await isAda(t, app, ada, eve)
  t.equal((await app.inject('/v1/users/me')).statusCode, 401)
  const own = await service({ identify: byHeader, selfAlias: { collections: ['users'], identify: () => 7 } })
  t.same((await own.inject({ url: '/v1/users/me', headers: ada })).json(), { id: '7' })
})

t.test('with identify, a response is private unless it says who may store it', async (t) => {
  const of = async (options: ConventionsOptions, path: string) => {
    const app = await service(options)
    const shared = { config: { caching: { cacheControl: { public: true, maxAge: 60 } } } }
    app.get('/v1/prices', shared, async () => ({ prices: [] }))
    return (await app.inject({ url: path, headers: { 'x-user': 'ada' } })).headers['cache-control']
  }
  t.equal(await of({ identify: byHeader }, '/v1/users/1'), 'no-cache, private')
  t.equal(await of({ identify: byHeader }, '/v1/prices'), 'public, max-age=60')
  t.equal(await of({}, '/v1/users/1'), 'no-cache')
  const caching = { isAuthenticated: () => false }
  t.equal(await of({ identify: byHeader, caching }, '/v1/users/1'), 'no-cache')
})

t.test('with bearer, the subject of the token is the caller everywhere', async (t) => {
  const issuer = await testIssuer()
  const app = await service({ bearer: issuer.options, selfAlias: { collections: ['users'] } })
  const tokenOf = async (subject: string) => ({ authorization: `Bearer ${await issuer.token({ subject })}` })
  await isAda(t, app, await tokenOf('ada'), await tokenOf('eve'))
})
