import cookies from '@fastify/cookie'
import csrf from '@fastify/csrf'
import csrfProtection from '@fastify/csrf-protection'
import Fastify, { type FastifyInstance } from 'fastify'
import { httpsOnly } from 'fastify-conventions/https-only'
import { xsrf } from 'fastify-conventions/xsrf'
import { loadScenario } from '../scenario.js'

const secret = 'a secret of at least 32 characters'
const session = 'session=2f6a1c0e9b7d4853'
const request = (token: string, more = '') => [
  {
    method: 'POST',
    target: '/v1/users/42',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      cookie: `${session}; ${more}`,
      'x-xsrf-token': token,
      'x-forwarded-proto': 'https',
    },
    body: '{"age":37}',
    status: 200,
  },
]

/** A token of the session, which any instance with the secret makes. */
async function tokenOf(): Promise<string> {
  const app = Fastify()
  await app.register(xsrf, { cookies: ['session'], secret })
  app.get('/token', async (_request, reply) => ({ token: reply.generateXsrfToken() }))
  const { token } = (
    await app.inject({ url: '/token', headers: { cookie: session, 'x-requested-with': 'x' } })
  ).json()
  await app.close()
  return token
}

const token = await tokenOf()
const peerTokens = new csrf.Tokens({})
const peerSecret = peerTokens.secretSync()

/** What a POST pays that a cookie authenticates, where its token is checked; and what a check of the protocol costs. */
export default loadScenario({
  title: 'POST by a cookie, with a token',
  baseline: 'bare',
  requests: request(token, `XSRF-TOKEN=${token}`),
  sameBody: true,
  variants: {
    bare: { about: 'Fastify', build: async () => withRoute(Fastify()) },
    httpsOnly: {
      about: 'httpsOnly, behind a proxy',
      build: async () => {
        const app = Fastify({ trustProxy: true })
        await app.register(httpsOnly)
        return withRoute(app)
      },
    },
    xsrf: {
      about: 'xsrf',
      build: async () => {
        const app = Fastify()
        await app.register(xsrf, { cookies: ['session'], secret })
        return withRoute(app)
      },
    },
    csrfProtection: {
      about: '@fastify/csrf-protection with @fastify/cookie; not bound to the session, no Fetch Metadata',
      requests: request(peerTokens.create(peerSecret), `_csrf=${peerSecret}`),
      build: async () => {
        const app = Fastify()
        await app.register(cookies)
        await app.register(csrfProtection, {})
        app.addHook('onRequest', app.csrfProtection)
        return withRoute(app)
      },
    },
  },
})

function withRoute(app: FastifyInstance): FastifyInstance {
  app.post('/v1/users/:id', async () => ({ id: 42 }))
  return app
}
