import Fastify, { type FastifyInstance } from 'fastify'
import { bearer } from 'fastify-conventions'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { accessToken, issuerKey } from '../fixtures/access-token.js'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const issuer = 'https://issuer.bench'
const audience = 'https://api.bench'
const keys = { keys: [issuerKey] }

/** What a token costs. The hook by hand verifies the same claims, and sets the same caller. */
export default loadScenario({
  title: 'GET of one item with an access token, signed by RS256, that is sent again and again',
  baseline: 'joseHook',
  requests: [{ target: '/v1/users/42', headers: { authorization: `Bearer ${accessToken}` } }],
  sameBody: true,
  bounds: { bearer: { max: 1.15 } },
  variants: {
    bare: { about: 'Fastify, without authentication', build: () => withUser(Fastify()) },
    joseHook: {
      about: 'Fastify, and jwtVerify() of jose in an onRequest hook',
      build: () => {
        const app = Fastify()
        const find = createLocalJWKSet(keys)
        const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
        const requiredClaims = ['sub', 'exp']
        app.decorateRequest('caller', null)
        app.addHook('onRequest', async (request) => {
          const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
          const settings = { issuer, audience, algorithms, typ: 'at+jwt', requiredClaims, clockTolerance: 10 }
          const { payload } = await jwtVerify(token, find, settings)
          request.caller = {
            subject: String(payload.sub),
            scopes: String(payload.scope).split(' '),
            claims: payload,
          }
        })
        return withUser(app)
      },
    },
    bearer: { about: 'bearer alone', build: withBearer },
  },
})

function withUser(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  return app
}

async function withBearer(): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(bearer, { issuer, audience, jwks: keys })
  return withUser(app)
}
