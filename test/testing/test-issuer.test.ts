import { decodeJwt, decodeProtectedHeader } from 'jose'
import t from 'tap'
import { testIssuer } from '../../src/testing/index.js'

t.test('a token has the claims of RFC 9068, and a scope where one is given', async (t) => {
  const { token, options } = await testIssuer({ now: () => 1_000_500 })
  const plain = await token()
  const { jti, ...claims } = decodeJwt(plain)
  t.match(jti, /./)
  const times = { iat: 1_000, exp: 1_300 }
  const parties = { iss: 'https://issuer.test', aud: 'https://api.test', sub: 'test-user' }
  t.strictSame(claims, { ...parties, ...times, client_id: 'test-client' })
  const { kid, ...header } = decodeProtectedHeader(plain)
  t.strictSame(header, { alg: 'ES256', typ: 'at+jwt' })
  t.match(options.jwks.keys, [{ kid, alg: 'ES256', use: 'sig' }])
  t.equal(decodeJwt(await token({ scopes: ['a', 'b'] })).scope, 'a b')
})
