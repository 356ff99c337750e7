/** Which paths a context's prefix stands for. */
import t from 'tap'
import { isBelow } from '../../../src/plugins/method-override/is-below.js'

t.test('a prefix stands for itself and what is below it', (t) => {
  const cases: readonly (readonly [path: string, prefix: string, expected: boolean])[] = [
    ['/v1/users', '', true],
    ['/', '', true],
    ['/v1', '/v1', true],
    ['/v1/', '/v1', true],
    ['/v1/users/1', '/v1', true],
    ['/v1/users/1', '/v1/', true],
    ['/v10', '/v1', false],
    ['/v2/v1', '/v1', false],
    ['/', '/v1', false],
    ['/v1/tenants/acme/users', '/v1/tenants/:tenant', true],
    ['/v1/tenants', '/v1/tenants/:tenant', false],
  ]
  for (const [path, prefix, expected] of cases) t.equal(isBelow(path, prefix), expected, `${path} ${prefix}`)
  t.end()
})
