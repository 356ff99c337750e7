import t from 'tap'
import { basePathOf } from '../../src/convention/contexts.js'

t.test('the base path of a context ends before a major version', async (t) => {
  for (const [prefix, base] of [
    ['', ''],
    ['/', ''],
    ['/api', '/api'],
    ['/api//', '/api'],
    ['/api/v1', '/api'],
    ['/api/v12/admin', '/api'],
    ['/api/v1x/admin', '/api/v1x/admin'],
    ['/v1', ''],
  ] as const) {
    t.equal(basePathOf({ prefix } as never), base, prefix)
  }
})
