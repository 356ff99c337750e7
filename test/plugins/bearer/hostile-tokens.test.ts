/** Tokens of an attacker: none is accepted, and none is an error of the server. */
import fc from 'fast-check'
import Fastify from 'fastify'
import { base64url, decodeJwt, SignJWT, UnsecuredJWT } from 'jose'
import t from 'tap'
import { type BearerOptions, bearer, problems } from '../../../src/index.js'
import { credentialsOf } from '../../../src/plugins/bearer/hooks.js'
import { testIssuer } from '../../../src/testing/index.js'

const issuer = await testIssuer()
const valid = await issuer.token({ scopes: ['a'] })

async function service(options: Partial<BearerOptions> = {}) {
  const app = Fastify()
  await app.register(problems)
  await app.register(bearer, { ...issuer.options, ...options })
  app.get('/protected', async () => ({}))
  await app.ready()
  return async (authorization: string): Promise<number> =>
    (await app.inject({ url: '/protected', headers: { authorization } })).statusCode
}

t.test('no change of a token is accepted', async (t) => {
  const statusOf = await service()
  t.equal(await statusOf(`Bearer ${valid}`), 200)
  // The last character of the signature has bits without a meaning.
  const position = fc.integer({ min: 0, max: valid.length - 2 })
  const character = fc.constantFrom(...'AZaz09-_.=+/~')
  await fc.assert(
    fc.asyncProperty(position, character, async (at, replaced) => {
      fc.pre(valid[at] !== replaced)
      const status = await statusOf(`Bearer ${valid.slice(0, at)}${replaced}${valid.slice(at + 1)}`)
      return status === 401 || status === 400
    }),
    { numRuns: 300 },
  )
})

t.test('no header field is an error of the server', async () => {
  const statusOf = await service()
  const text = fc.string({ unit: fc.constantFrom(...'Bearer .=,"\t~aZ09-_'), maxLength: 200 })
  const json = fc.json().map((value) => base64url.encode(value))
  const token = fc.tuple(json, json, json).map((parts) => `Bearer ${parts.join('.')}`)
  await fc.assert(
    fc.asyncProperty(fc.oneof(text, token), async (authorization) => {
      const status = await statusOf(authorization)
      return status === 401 || status === 400
    }),
    { numRuns: 300 },
  )
})

t.test('tokens without a signature, or signed with the public or a key of their own: 401', async (t) => {
  const statusOf = await service()
  const [key] = issuer.options.jwks.keys as { kid: string; x: string }[]
  const [, payload = ''] = valid.split('.')
  const claims = decodeJwt(valid)
  const kid = key?.kid ?? ''
  const unsigned = (header: object) => {
    const all = { alg: 'ES256', typ: 'at+jwt', ...header }
    return `${base64url.encode(JSON.stringify(all))}.${payload}.AAAA`
  }
  const hmac = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid })
  const tokens = {
    none: new UnsecuredJWT(claims).encode(),
    HS256: await hmac.sign(Buffer.from(JSON.stringify(key).padEnd(32))),
    jwk: unsigned({ jwk: key }),
    crit: unsigned({ kid, crit: ['x'], x: 1 }),
    encrypted: 'a.b.c.d.e',
  }
  for (const [about, token] of Object.entries(tokens)) t.equal(await statusOf(`Bearer ${token}`), 401, about)
})

t.test('an algorithm that is not listed is refused, although the key fits', async (t) => {
  const statusOf = await service({ algorithms: ['RS256', 'EdDSA'] })
  t.equal(await statusOf(`Bearer ${valid}`), 401)
})

t.test('credentials are read as RFC 6750 §2.1 writes them', async () => {
  const b64token = fc.stringMatching(/^[A-Za-z0-9._~+/-]{1,50}={0,2}$/)
  fc.assert(
    fc.property(b64token, fc.constantFrom('Bearer ', 'bearer  ', 'BEARER '), (token, scheme) => {
      const authorization = scheme + token
      const read = credentialsOf({ headers: { authorization }, rawHeaders: ['Authorization', authorization] })
      return typeof read === 'object' && read.token === token
    }),
  )
})
